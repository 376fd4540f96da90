"""What is sent to the tasks before their commands start: found, fetched, packed.

Imports no other folder of the launcher.
"""
