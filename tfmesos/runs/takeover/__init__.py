"""How another launcher continues a run: who holds it, its keys, and its recorded past.

It may import what ``runs`` may; ``runs`` and ``cli`` import it.
"""
