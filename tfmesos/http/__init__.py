"""HTTP/1.1 over asyncio: h11 parses; this folder moves the bytes and sets the limits.

Imports only modules at the top of the package. Knows no engine, no task and no route.
"""
