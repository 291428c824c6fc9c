"""CodeWhale (formerly DeepSeek-TUI): one rewritten JSON document per session, with a journal of branches."""
