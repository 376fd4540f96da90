"""Take-over of a run by another launcher: who holds it, and what was being created."""
