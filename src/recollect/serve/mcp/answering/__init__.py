"""From the arguments of a call to the text of its answer. Imported by the first call, not before."""
