"""The distilled side of the database: what distilling reads, what it keeps, and what is asked of that."""
