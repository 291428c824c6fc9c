"""Erases what people, agents and rules wrote beside the events."""
