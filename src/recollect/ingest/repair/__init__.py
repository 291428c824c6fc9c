"""Putting right what was damaged: archive and database in step again, damaged chunks archived again."""
