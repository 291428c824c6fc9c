"""The writer side of the database, by table."""
