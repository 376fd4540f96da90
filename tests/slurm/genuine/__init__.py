"""A genuine Slurm of Debian's packages on the loopback, in a PID namespace of its own.

``slurmd`` finds the processes of a job by their ancestry and ends them. In a PID namespace it sees
the processes of this cluster only, so it can never signal anything else. By hand::

    python -m tests.slurm.genuine       # prints the SLURM_CONF to export; Ctrl-C ends it
"""
