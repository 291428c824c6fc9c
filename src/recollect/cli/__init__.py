"""The command line: `main` runs it, `commands` has one module per command, `render` prints results for people."""
