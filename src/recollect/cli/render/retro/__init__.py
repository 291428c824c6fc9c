"""Renders a retrospective as Markdown and as one HTML page with plots."""
