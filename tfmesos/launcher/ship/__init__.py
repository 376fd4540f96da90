"""Finds, fetches and packs the files that are sent to the tasks before their commands start.

Imports no other folder of the launcher.
"""
