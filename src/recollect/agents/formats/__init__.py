"""The facts of every agent, one TOML file each, and the parser that reads described records."""
