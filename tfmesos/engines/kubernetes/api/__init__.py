"""The client of the API server: kubeconfig, credentials, requests, watches, port-forwards.

Decides nothing about a run, and imports no module of the folder above.
"""
