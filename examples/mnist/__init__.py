"""Handwritten digits and two examples that learn to read them.

The examples in the folder above share the digits: ``from mnist import digits``.
"""
