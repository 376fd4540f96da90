"""Slurm's commands: how they are run, what they answer, and what its words mean.

Decides nothing about a run, and imports no module of the folder above.
"""
