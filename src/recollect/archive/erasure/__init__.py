"""Erases bytes of the archive: leaves holes in revisions and compacts packs."""
