"""What readers of conversation exports share: the head of a file, the tree of a conversation, its document."""
