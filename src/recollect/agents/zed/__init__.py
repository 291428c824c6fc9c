"""The agent panel of Zed."""
