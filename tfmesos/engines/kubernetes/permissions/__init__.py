"""What a cluster allows: the rights of the user, and policies for pods."""
