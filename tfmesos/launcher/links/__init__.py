"""The connections to the runners: authentication, messages, and files.

Imports ``ship`` of the other folders of the launcher.
"""
