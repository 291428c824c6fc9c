"""What people and agents write down: small authored rows, written straight to the database without the ingest lock."""
