"""What a user gave, as a LaunchConfig: settings, job file, environment and the files they name."""
