"""What the owner of a run sees and does inside its tasks, over its control socket."""
