"""The contract of an adapter. `registry` is the only list of adapters."""

from typing import Any, Protocol

from recollect.model.capabilities import AgentFacts
from recollect.model.records import Parsed, Record, SourceInfo


class Adapter(Protocol):
    """Our code for one agent. Every method is pure and deterministic and never raises on content.

    The pipeline calls, per source: `recognise` (extra roots only), `identify` once, `begin` once, then `parse` for
    every record in order. It may stop after any record, store the state (msgspec-encoded, at most 1 MiB) and continue
    later: the events must not depend on where it stopped.
    """

    @property
    def facts(self) -> AgentFacts:
        """The declared facts, data only."""
        ...

    @property
    def state_type(self) -> type[Any]:
        """A frozen msgspec.Struct; what `begin` returns and `parse` threads through."""
        ...

    def recognise(self, path: str, head: bytes) -> str | None:
        """Return a source's role, by its content (first 64 KiB), or None if it is not this agent's.

        Used for folders of transcripts without the agent's own layout. `path` is only a second hint.
        """
        ...

    def source_key(self, info: SourceInfo) -> str:
        """Return what stays the same when the agent moves the file (archive, relocation, compression)."""
        ...

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """Return the native id of the session this source belongs to, from its path or first 64 KiB.

        Never empty; where an agent has none, a hash of the first record (`file-<16 hex>`).
        """
        ...

    def begin(self, info: SourceInfo) -> Any:
        """Return the state before the first record. `info.session` is set."""
        ...

    def parse(self, record: Record, state: Any) -> Parsed[Any]:
        """Return the events of one record. `record.value` is any decoded JSON value (or text).

        Records that are not JSON, too large or too deep never come here: the pipeline makes them
        `unknown` events with a defect.
        """
        ...
