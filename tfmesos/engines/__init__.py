"""The engines, which provide nodes: ``api`` is the interface, each folder an engine.

An engine knows ``core`` and ``config``, and no other engine. What it decides is pure; its driver
and its setup do the I/O. A setup may use ``launcher/links``, to tell runners where to connect.
"""
