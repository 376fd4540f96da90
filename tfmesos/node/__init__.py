"""What runs on a node: the stub, the runner and all it needs. Everything here travels.

Standard library of Python 3.8 only; of ours nothing but this folder, ``shared`` and
``tfmesos.errors``.
"""
