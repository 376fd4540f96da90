"""What a cluster allows a run: rights of its user, and policies for its pods."""
