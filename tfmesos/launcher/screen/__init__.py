"""What the user sees: lines, the table of the tasks, the failure report.

Imports ``links`` of the other folders of the launcher: what a task uses is reported there.
"""
