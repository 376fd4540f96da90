"""The commands about runs, old and new: ``tfrun list`` and so on, a module for each."""
