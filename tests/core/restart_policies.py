"""Policies of restarts, and what a run said."""

from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do

KILLED = 137


ALL = RestartPolicy(after_start="all")


def said(todo):
    return [action.text for action in only(do.Say, todo)]
