"""One module per verb, loaded when the verb is used; `command` is its click command. `recollect.verbs` lists them."""
