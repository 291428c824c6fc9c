"""What `setup` writes into agents' configurations: the commands that they run, the plan, the edits."""
