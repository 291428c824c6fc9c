"""Roo Code: tasks as Cline writes them, with subtasks and condensed contexts of its own."""
