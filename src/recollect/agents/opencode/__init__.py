"""opencode and its relatives Kilo and MiMo Code: databases of two generations and the older JSON tree."""
