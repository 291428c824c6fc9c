"""What needs archive, store and index together: verify, export, doctor."""
