"""What people, agents and rules wrote beside the events: which of it is meant, and taking it away."""
