"""The server of a team: what members share, in PostgreSQL; who may read it is enforced there."""
