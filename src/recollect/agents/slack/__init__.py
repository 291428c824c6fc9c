"""Slack: the channels of a workspace export."""
