"""What is sent to the tasks before their commands start; the same rule as the folder above."""
