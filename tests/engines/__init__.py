"""Tests of the engines that lie behind the seam."""
