"""gptme: a log of messages whose tool calls are code blocks in the text."""
