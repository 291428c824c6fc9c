"""QwenPaw (CoPaw): one document per session, in which the agent keeps its memory."""
