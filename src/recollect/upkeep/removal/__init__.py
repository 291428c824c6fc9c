"""Taking bytes away from the archive, safely: cuts, compaction, and reading what has holes."""
