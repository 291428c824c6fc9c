"""goose: its session database and the session files of older versions."""
