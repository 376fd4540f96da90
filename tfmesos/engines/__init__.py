"""What gives a run its nodes: ``api`` is the seam, each folder an engine behind it.

An engine knows ``core`` and ``config``, and no other engine. What it decides is pure; its driver
and its setup do the I/O. A setup may use ``launcher/links``, to tell runners where to connect.
"""
