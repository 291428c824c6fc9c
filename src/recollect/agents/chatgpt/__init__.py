"""ChatGPT: the conversations of a data export."""
