"""Decides about the life of a run, in terms of tasks and places.

Pure, and independent of any engine: engines have their own deciders.
"""
