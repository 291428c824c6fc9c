"""The process that agents run at their events: it spools the event and, where needed, answers it.

Standard library only, because an agent waits for it: a hook is a process of milliseconds. It always ends with exit
code 0 and prints nothing but a valid answer.
"""
