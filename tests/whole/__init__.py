"""Whole runs, as users start them: ``tfrun``, ``cluster()``, a standing Mesos."""
