"""The command line: `main` runs it, one small module per verb in `commands`, `render` shows results to people."""
