"""One module per command, loaded when you use it; `cli.verbs` lists them."""
