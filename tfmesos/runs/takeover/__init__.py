"""How another launcher goes on with a run: who holds it, its keys, and its past as it is recorded.

It may use all that ``runs`` may; ``runs`` and ``cli`` use it.
"""
