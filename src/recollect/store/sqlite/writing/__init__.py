"""The writer's side of the database, by table."""
