"""What the index holds, told in full: for checking it, not for questions."""
