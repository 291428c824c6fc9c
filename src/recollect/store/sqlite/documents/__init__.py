"""Collections of project documents in SQLite: `SqliteDocuments` reads and writes them, `removing` takes them away."""
