"""Claude.ai: the conversations of a data export."""
