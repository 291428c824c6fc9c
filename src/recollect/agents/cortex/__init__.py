"""Cortex Code (Snowflake): one document per conversation, whose messages move to a file of lines when it grows."""
