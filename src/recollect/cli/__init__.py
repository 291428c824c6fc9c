"""The command line: `main` runs it, `commands` has one module per group of verbs, `render` prints results."""
