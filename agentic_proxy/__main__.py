"""``python -m agentic_proxy``: the same program as ``agentic-proxy``."""

from __future__ import annotations

import sys

from agentic_proxy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
