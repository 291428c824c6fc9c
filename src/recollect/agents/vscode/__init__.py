"""GitHub Copilot Chat in VS Code and its relatives."""
