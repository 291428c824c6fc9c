"""`recollect tui`: the memory in a terminal, with the keys of the web page; made with Textual."""
