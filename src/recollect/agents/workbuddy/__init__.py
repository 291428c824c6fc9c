"""WorkBuddy: one file of items per session, and one per subagent below it."""
