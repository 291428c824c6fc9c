"""One moment of a database, copied while others write to it, and what two moments differ in."""
