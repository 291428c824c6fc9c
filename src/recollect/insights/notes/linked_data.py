"""Exports facts as JSON-LD 1.1 with an embedded context, so that nothing is fetched to read it.

Each fact is an `rdf:Statement` with the time in which it holds. `validFrom` is schema.org's; `validUntil` is ours,
because the end of a fact is exclusive. Source: W3C, JSON-LD 1.1, sections 3.1 "The Context" and 9.15 "Context
Definitions"; RDF 1.1, "Reification".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from recollect.model.learnings.names import normal_name
from recollect.model.learnings.notes import Fact
from recollect.model.time import to_iso

_DATE = "xsd:dateTime"
CONTEXT: dict[str, Any] = {
    "@version": 1.1,
    "id": "@id",
    "type": "@type",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "schema": "https://schema.org/",
    "prov": "http://www.w3.org/ns/prov#",
    "recollect": "urn:recollect:vocabulary:",
    "subject": {"@id": "rdf:subject", "@type": "@id"},
    "predicate": {"@id": "rdf:predicate", "@type": "@id"},
    "object": {"@id": "rdf:object", "@type": "@id"},
    "name": "schema:name",
    "validFrom": {"@id": "schema:validFrom", "@type": _DATE},
    "validUntil": {"@id": "recollect:validUntil", "@type": _DATE},
    "recordedAt": {"@id": "prov:generatedAtTime", "@type": _DATE},
    "invalidatedAt": {"@id": "prov:invalidatedAtTime", "@type": _DATE},
    "isRetracted": {"@id": "recollect:isRetracted", "@type": "xsd:boolean"},
    "isUndone": {"@id": "recollect:isUndone", "@type": "xsd:boolean"},
    "source": "recollect:source",
    "reference": "recollect:reference",
    "repository": "recollect:repository",
    "status": "recollect:status",
    "confidence": {"@id": "recollect:confidence", "@type": "xsd:double"},
    "batch": "recollect:batch",
}


def linked_data(facts: Iterable[Fact]) -> dict[str, Any]:
    """Return a JSON-LD document of facts, in their order."""
    return {"@context": CONTEXT, "@graph": [_statement(fact) for fact in facts]}


def _statement(fact: Fact) -> dict[str, Any]:
    times = {
        "validFrom": fact.valid_from,
        "validUntil": fact.valid_to,
        "recordedAt": fact.recorded_at,
        "invalidatedAt": fact.invalidated_at,
    }
    words = {
        "source": fact.source,
        "reference": fact.reference,
        "repository": fact.repo,
        "status": fact.status,
        "batch": fact.batch,
    }
    return {
        "id": f"urn:recollect:fact:{fact.id}",
        "type": "rdf:Statement",
        "subject": _named(fact.subject),
        "predicate": f"urn:recollect:predicate:{quote(fact.predicate, safe='')}",
        "object": _named(fact.object),
        **{name: to_iso(at) for name, at in times.items() if at is not None},
        **{name: text for name, text in words.items() if text},
        "confidence": fact.confidence,
        **({"isRetracted": True} if fact.is_retracted else {}),
        **({"isUndone": True} if fact.is_undone else {}),
    }


def _named(name: str) -> dict[str, str]:
    """Return a thing of that name; names that are the same in normal form are the same thing."""
    encoded = quote(normal_name(name).encode("utf-8", "replace"), safe="")
    return {"id": f"urn:recollect:name:{encoded}", "name": name}
