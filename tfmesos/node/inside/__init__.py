"""What the owner of a run can do inside a running task: commands, copies, connections."""
