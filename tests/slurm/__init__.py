"""Tests of the Slurm engine on a genuine Slurm."""
