"""The tools that write, and those that read what they wrote: only where the person turned them on."""
