"""Every part of a run is broken on purpose, on the embedded Mesos. See conftest.py for the bounds.

Kin that live elsewhere: the same masters and agents as processes of a genuine Mesos
(``tests/mesos/test_faults.py``), the launcher's client alone against bad masters
(``tests/test_client.py``), the rendezvous alone against strangers (``tests/test_rendezvous.py``),
the runner alone (``tests/test_server.py``).
"""
