"""Rules of what people and agents write down: facts with their time, diaries, contradictions, JSON-LD."""
