"""Tests of the Slurm engine that ask no Slurm."""
