"""What to run, checked: jobs, settings, constraints.

Pure: no I/O, and nothing of ours but the top.
"""
