"""The process that an agent runs at its events: it spools the event, and answers where the event has an answer.

Standard library only, because an agent waits for it: a hook is a process of milliseconds. It always ends with exit
code 0 and prints nothing but a valid answer.
"""
