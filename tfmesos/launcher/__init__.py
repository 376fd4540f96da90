"""Joins everything: the loop, the listener for the runners, the screen.

Decides nothing about a run. At the top is the run itself; it imports the folders, and they do not
import it. Among the folders, imports point one way:

    ship  <-  links  <-  screen  <-  caller
"""
