"""HTTP/1.1 over asyncio: h11 parses, this room moves the bytes and sets the limits.

Imports nothing of ours but what is for all. Knows no Mesos, no task and no route.
"""
