"""Rules for what people and agents write down: facts with their validity, diaries, contradictions, JSON-LD."""
