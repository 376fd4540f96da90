"""Slurm as an engine, through its commands: sbatch, squeue, scontrol, scancel and srun.

``engine`` and what it imports decide and are pure. Nothing here knows the other engines.
"""
