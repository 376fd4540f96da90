"""From what the user gave to what a run needs: settings, job files, environment, secrets.

Imports ``links`` and ``ship`` of the other folders of the launcher.
"""
