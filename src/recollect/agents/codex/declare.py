"""The roles of its sources."""

TRANSCRIPT = "transcript"
TRANSCRIPT_ZST = "transcript_zst"
TRANSCRIPT_JSON = "transcript_json"
HISTORY = "history"
SESSION_INDEX = "session_index"
