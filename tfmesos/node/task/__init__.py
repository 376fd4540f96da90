"""What a task has besides its processes: files, secrets, a port, steps and a TensorFlow server."""
