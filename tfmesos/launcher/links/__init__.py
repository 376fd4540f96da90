"""The connections to the runners: who is let in, what both sides say, what is sent.

Imports ``ship`` of the other folders of the launcher.
"""
