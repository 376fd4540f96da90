"""Every part of a run is broken on purpose, on the embedded Mesos. See conftest.py for the bounds.

Kin that live elsewhere: the same masters and agents as processes of a genuine Mesos
(``tests/mesos/genuine/test_faults.py``), the launcher's client alone against bad masters
(``tests/engines/mesos/api/test_client.py``), the listener alone against strangers
(``tests/launcher/links/test_authentication.py``), the runner alone (``tests/node/test_runner.py``).
"""
