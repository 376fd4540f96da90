"""The run directory: what a run was, did and said, kept for its owner.

A launcher writes it; commands that list, follow or replay runs read it. It may import every folder
except ``cli``; only the fronts and ``cli`` import it, so that a run needs no record.
"""
