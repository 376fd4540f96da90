"""Joins everything: the loop, the listener for the runners, what the user sees.

Decides nothing about a run.
"""
