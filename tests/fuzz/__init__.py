"""Fuzzers: whatever others send is taken or refused in words, and breaks nothing.

``make fuzz SECONDS=60`` runs each of them so long; ``make test`` runs each for a moment. What
they found stays as a test, in ``test_findings.py``.
"""
