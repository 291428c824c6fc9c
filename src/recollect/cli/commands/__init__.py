"""The commands, in modules that load on first use; `recollect.verbs` maps verbs to modules."""
