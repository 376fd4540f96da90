"""The Mesos engine: ``engine`` decides how a run gets its places, ``driver`` carries it out.

What ``engine`` imports is pure; ``driver`` does the I/O, with the folder ``api``.
"""
