"""The Mesos engine: ``engine`` decides how a run gets its places, ``driver`` does it.

What ``engine`` imports is pure; the client and what it needs do the I/O.
"""
