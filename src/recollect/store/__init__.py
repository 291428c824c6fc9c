"""The database, behind typed protocols (`ports`); `sqlite` implements them. No SQL leaves this package."""
