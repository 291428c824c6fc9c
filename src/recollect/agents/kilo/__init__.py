"""Kilo Code before April 2026, when it was an extension like Roo Code."""
