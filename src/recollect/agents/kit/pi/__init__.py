"""The session format of pi, which Oh My Pi, Prime Agent and OpenClaw write too."""
