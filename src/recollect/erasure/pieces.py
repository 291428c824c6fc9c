"""Reading a revision that may have holes, and going on where a compaction moved its chunks meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace, Hole
from recollect.capture.replay import ReplayGap
from recollect.errors import ArchiveError

_TRIES = 3


def pieces_and_gaps(
    archive: Archive, places_now: Callable[[], Sequence[ChunkPlace]], holes: Sequence[Hole]
) -> Iterator[bytes | ReplayGap]:
    """Yield a revision chunk by chunk, with a gap for every hole, for `capture.replay`.

    places_now: gives the chunks of the revision as the store knows them. holes: of the revision; one that nothing is
    known of counts as no record. Raises ArchiveCorrupt, ArchiveError when the chunk's turn comes.
    """
    known = {hole.offset: hole for hole in holes}
    position = 0
    for piece in lasting_pieces(archive, places_now):
        if isinstance(piece, bytes):
            yield piece
            position += len(piece)
        else:
            hole = known.get(position)
            yield ReplayGap(piece.plain, hole.records, hole.turn) if hole else ReplayGap(piece.plain, 0)
            position += piece.plain


def lasting_pieces(archive: Archive, places_now: Callable[[], Sequence[ChunkPlace]]) -> Iterator[bytes | ChunkPlace]:
    """Yield a revision chunk by chunk, holes as their place; where chunks moved meanwhile, from their new place.

    places_now: gives the chunks of the revision as the store knows them. Raises ArchiveCorrupt, ArchiveError.
    """
    places = places_now()
    done = tries = 0
    while True:
        position = 0
        try:
            for place in places:
                start, position = position, position + place.plain
                if position <= done and place.plain:
                    continue
                if place.is_hole:
                    yield place._replace(plain=position - done)
                else:
                    for piece in archive.iter_bytes((place,)):
                        yield piece[done - start :] if done > start else piece
                done = position
            return
        except ArchiveError:
            fresh = places_now()
            tries += 1
            if fresh == places or tries >= _TRIES:
                raise
            places = fresh


def holes_of(places: Sequence[ChunkPlace]) -> list[tuple[int, int]]:
    """Return (offset, length) of every hole among the chunks of a revision."""
    found = []
    position = 0
    for place in places:
        if place.is_hole:
            found.append((position, place.plain))
        position += place.plain
    return found
