"""Turns the events that hooks spooled into files that are sources like others."""
