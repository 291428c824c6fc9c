"""Looking only where something changed: the paths of a pass, and folders of which some entries are known by name."""
