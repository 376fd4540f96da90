"""What the user sees: lines, the table of the tasks, the failure report.

Of the other folders of the launcher, it imports ``links``, where usage is reported.
"""
