"""What the proxy costs, beside an aiohttp byte pipe and other proxies; started by ``scripts/bench``."""
