"""The readers' side of the database, by question."""
