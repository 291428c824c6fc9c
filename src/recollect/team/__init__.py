"""A team's server: what members share, in PostgreSQL, which also decides who may read it."""
