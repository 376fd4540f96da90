"""Processes of a task: how they start, what they write and use, and what is left of them."""
