"""Decides when and why the next generation of a run begins, and what its tasks are. Pure."""
