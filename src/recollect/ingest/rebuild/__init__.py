"""From the archive to events again: a revision as slices, and what only the old database still knows."""
