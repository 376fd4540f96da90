"""What speaks to an API server: kubeconfig, credentials, questions, watches, port-forwards.

Decides nothing about a run, and imports no module of the folder above.
"""
