"""How a run comes to its engine: a Mesos, the embedded one or a Kubernetes, all seen alike.

Imports ``links`` and ``screen`` of the other folders of the launcher.
"""
