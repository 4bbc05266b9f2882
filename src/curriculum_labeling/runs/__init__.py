"""What a run leaves behind, and what to make of it."""
