"""Taking bytes away: holes in revisions, and packs without what no revision has any more."""
