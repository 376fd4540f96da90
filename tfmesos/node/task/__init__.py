"""What a task has besides processes: files, secrets, a port, steps and a TensorFlow server."""
