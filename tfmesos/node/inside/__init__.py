"""What the owner of a run does inside a running task: commands, copies, connections."""
