"""The Kubernetes engine. What decides is pure; ``driver`` does the I/O, with the folder ``api``.

Imports what decides about runs, what travels, and HTTP. Imported only by a run that uses it.
"""
