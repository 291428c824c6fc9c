"""One folder per agent: facts declared as data and a pure parser."""
