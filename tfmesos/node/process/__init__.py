"""Processes of a task: start, output, usage, and clean-up."""
