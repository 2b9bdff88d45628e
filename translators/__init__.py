"""Pure wire translation: bytes or dicts in, events and notes out.

Nothing in this package does I/O, reads a clock, logs, or knows of asyncio. Limits and ids are arguments.
The hub format is the OpenAI Responses API itself; every other wire format converts to and from it.
"""

__version__ = "0.1.0"
