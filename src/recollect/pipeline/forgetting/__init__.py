"""Carrying out what is to be forgotten: archive, database, index, vectors, spool; and keeping it out from then on."""
