"""What is learned of sessions: a deterministic extractor, a durable worker that may ask a model, `user.md`."""
