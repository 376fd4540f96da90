"""Tests of the engine of this machine."""
