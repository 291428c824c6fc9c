"""Project documents: which files of a folder are documentation, their text, and the parts that a search finds."""
