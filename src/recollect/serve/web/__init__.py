"""The web page: search, sessions and one session, rendered here, for the user's own browser and nobody else."""
