"""What `setup` writes into agents' configurations: the commands, the plan and the edits."""
