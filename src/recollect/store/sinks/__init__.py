"""Where distilled things go besides the memory: a file of lines, a database of their own, or what you write."""
