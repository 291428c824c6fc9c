"""Finds the documentation files of a folder, reads their text, and cuts it at headings."""
