"""What Recollect costs and how well it finds, measured by scripts that anyone can run. Never part of the tests."""
