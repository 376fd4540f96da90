"""What lets a run outlive its launcher: who holds it, and what was being created."""
