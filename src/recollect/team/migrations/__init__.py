"""The numbered migrations, one file of SQL each."""
