"""The client of masters and agents: addresses, credentials, calls, the event stream.

Decides nothing about a run, and imports no module of the folder above.
"""
