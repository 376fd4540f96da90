"""The Kubernetes engine. What decides is pure; ``client`` and what it imports do the I/O.

Imports what decides about runs, what travels, and HTTP. Imported only by a run that uses it.
"""
