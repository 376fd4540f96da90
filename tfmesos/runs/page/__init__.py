"""The page of all runs in a browser: a view of the run directories, and no part of any run.

``tfrun ui`` serves it on 127.0.0.1. It reads what the launchers write, and controls a run through
the socket in its directory, as the commands do. It belongs to the room ``runs``; nobody but ``cli``
uses it. What the browser gets lies in ``static``, as it is: there is no build step.
"""
