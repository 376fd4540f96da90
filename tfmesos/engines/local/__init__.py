"""This machine as an engine: its processes, or its Docker containers, and its GPUs.

``engine`` and what it imports decide and are pure. Nothing here knows the other engines.
"""
