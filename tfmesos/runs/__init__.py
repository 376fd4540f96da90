"""The run directory: what a run was, did and said, kept for its owner.

A launcher writes it; whoever lists, follows or replays runs reads it. It may use every room but
``cli``; only the fronts and ``cli`` use it, so that a run needs no record.
"""
