"""Slurm as an engine, by its commands: sbatch, squeue, scontrol, scancel and srun.

``engine`` and what it imports decide and are pure. Nothing here knows Mesos or Kubernetes.
"""
