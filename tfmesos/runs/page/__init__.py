"""The page of all runs in a browser: a view of the run directories, and no part of any run.

``tfrun ui`` serves it on 127.0.0.1. It reads what the launchers write, and controls a run through
the socket in its directory, as the commands do. It belongs to the folder ``runs``; only ``cli``
uses it. The files for the browser are in ``static``, as they are: there is no build step.
"""
