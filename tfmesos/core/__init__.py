"""The life of a run, decided in words of tasks and places.

Pure, and without a word of any engine: those have deciders of their own.
"""
