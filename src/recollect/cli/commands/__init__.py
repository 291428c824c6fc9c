"""The commands, in modules that are loaded when you use one of them; `recollect.verbs` says which has which."""
