"""Values that are compressed with a dictionary, and sightings in a table that has no half empty pages."""

from __future__ import annotations

# Programs of before do not know the dictionary (`store.compression`): they would take what is sound for damaged.
# Rows of nearly a kilobyte leave half of every page empty in a table without a rowid.
STATEMENTS: tuple[str, ...] = (
    "INSERT OR REPLACE INTO meta VALUES ('readable_from', 9)",
    "ALTER TABLE learning_sighting RENAME TO learning_sighting_of_8",
    "DROP INDEX learning_sighting_session",
    # class: distilled
    """CREATE TABLE learning_sighting (
        learning TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        origin TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (learning, session_uid, origin)
    )""",
    "INSERT INTO learning_sighting SELECT learning, session_uid, origin, json FROM learning_sighting_of_8",
    "DROP TABLE learning_sighting_of_8",
    "CREATE INDEX learning_sighting_session ON learning_sighting (session_uid, origin)",
)
