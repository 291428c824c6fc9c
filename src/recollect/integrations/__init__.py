"""Connects other programs' libraries; each module imports its library only when you use it."""
