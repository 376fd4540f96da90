"""The program that called ``cluster()``, and TensorFlow in it, when a run ends or fails.

Imports ``screen`` of the other folders of the launcher.
"""
