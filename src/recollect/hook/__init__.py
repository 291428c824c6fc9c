"""The hook process: keeps what an agent tells at an event, and answers where the event has an answer.

Standard library only, because an agent waits for it: a hook is a process of milliseconds. It always ends with exit
code 0 and prints nothing but a valid answer.
"""
