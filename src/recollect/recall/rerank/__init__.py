"""The best of a question, looked at once more with their texts at hand."""
