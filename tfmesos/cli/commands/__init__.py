"""The commands that work on runs, such as ``tfrun list``: one module for each."""
