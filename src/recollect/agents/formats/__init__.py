"""What is known of every agent, one TOML file each, and what reads records by a description."""
