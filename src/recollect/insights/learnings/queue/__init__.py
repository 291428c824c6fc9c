"""How the durable queue of learning waits: backoff of one job, a pause of all that a model is asked."""
