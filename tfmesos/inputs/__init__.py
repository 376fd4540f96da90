"""Turns the user's input into a LaunchConfig: settings, job file, environment and named files."""
