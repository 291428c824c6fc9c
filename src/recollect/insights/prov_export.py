"""Exports nodes as provenance in the JSON form of the PROV data model.

Source: W3C Recommendation PROV-DM (2013) for the meaning, W3C Member Submission PROV-JSON (24 April 2013) for the form.
What becomes what: conversations, decisions and episodes are entities; a session is the activity that generates them and
uses decisions; people and agents are agents. Ids of nodes are qualified names as they are ("decision:0a1b…").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Link, Node, kind_of_node, node_id
from recollect.model.time import to_datetime

Document = dict[str, Any]
"""A PROV-JSON document: {"prefix": …, "entity": {name: attributes}, "used": {name: …} …}; only what there is."""

PREFIXES = {
    "recollect": "urn:recollect:terms:",
    "session": "urn:recollect:session:",
    "agent": "urn:recollect:agent:",
    **{kind: f"urn:recollect:{kind}:" for kind in ("conversation", "decision", "episode", "binding")},
}
_LABEL_CHARS = 200
_PERSON = "agent:person"


def to_prov(nodes: Iterable[Node], links: Iterable[Link] = ()) -> Document:
    """Return nodes and links as one PROV-JSON document; their order does not matter.

    Of a binding: `used(session, source)` at t_use, `wasDerivedFrom(episode, source)`; of an episode: `wasGeneratedBy`
    with the time of its last edit, so that a use is never later than its result. `supersedes` and `reverses` are
    revisions, `contradicts` is an influence. A referenced node without data has no attributes.
    """
    found: dict[str, dict[str, Any]] = {}
    for node in sorted(nodes, key=lambda node: (kind_of_node(node), node.id)):
        if isinstance(node, Binding):
            _bound(found, node)
        else:
            _put(found, "entity", node.id, _entity(node))
            _generated(found, node)
            if isinstance(node, Decision):
                _decided(found, node)
    for link in sorted(links, key=lambda link: (link.newer, link.older)):
        _linked(found, link)
    return {"prefix": PREFIXES, **{kind: dict(sorted(found[kind].items())) for kind in sorted(found)}}


def session_name(session_uid: str) -> str:
    """Return the qualified name of a session; signs that a local name may not hold are percent-encoded."""
    return f"session:{quote(session_uid, safe='')}"


def _entity(node: Conversation | Decision | Episode) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prov:type": _name(f"recollect:{type(node).__name__}"),
        "recollect:status": node.status,
        "recollect:confidence": {"$": f"{node.confidence:.2f}", "type": "xsd:decimal"},
    }
    if node.is_undone:
        found["recollect:undone"] = True
    if isinstance(node, Decision):
        found["prov:label"] = node.statement[:_LABEL_CHARS]
        found["recollect:polarity"] = node.polarity
        if node.chosen:
            found["recollect:chosen"] = list(node.chosen)
        if node.rejected:
            found["recollect:rejected"] = list(node.rejected)
    elif isinstance(node, Episode):
        found["prov:label"] = ", ".join(node.paths)[:_LABEL_CHARS]
        found["recollect:path"] = list(node.paths)
        found["recollect:outcome"] = node.outcome
        if node.commits:
            found["recollect:commit"] = list(node.commits)
    else:
        found["prov:label"] = node.text[:_LABEL_CHARS]
    return found


def _generated(found: dict[str, dict[str, Any]], node: Conversation | Decision | Episode) -> None:
    if not node.session_uid:
        return
    at = node.ended_at if isinstance(node, Episode) and node.ended_at is not None else node.ts
    _activity(found, node.session_uid)
    _put(
        found, "wasGeneratedBy", f"_:generated-{_local(node.id)}",
        {"prov:entity": node.id, "prov:activity": session_name(node.session_uid), **_time(at)},
    )  # fmt: skip


def _decided(found: dict[str, dict[str, Any]], decision: Decision) -> None:
    who = _agent_of(decision.session_uid)
    if decision.speaker == "human" or not who:
        who = _PERSON
        _put(found, "agent", who, {"prov:type": _name("prov:Person")})
    local = _local(decision.id)
    _put(found, "wasAttributedTo", f"_:attributed-{local}", {"prov:entity": decision.id, "prov:agent": who})
    if decision.conversation:
        _put(found, "entity", decision.conversation, {})
        said = {"prov:generatedEntity": decision.id, "prov:usedEntity": decision.conversation}
        _put(found, "wasDerivedFrom", f"_:read-{local}", said)


def _bound(found: dict[str, dict[str, Any]], binding: Binding) -> None:
    local = _local(binding.id)
    _put(found, "entity", binding.source, {})
    _put(found, "entity", binding.episode, {})
    _activity(found, binding.generated_session)
    activity = session_name(binding.generated_session)
    use = {"prov:activity": activity, "prov:entity": binding.source, **_time(binding.t_use)}
    _put(found, "used", f"_:used-{local}", use)
    derived = {
        "prov:generatedEntity": binding.episode,
        "prov:usedEntity": binding.source,
        "prov:activity": activity,
        "recollect:binding": _name(binding.id),
        "recollect:confidence": {"$": f"{binding.confidence:.2f}", "type": "xsd:decimal"},
    }
    _put(found, "wasDerivedFrom", f"_:derived-{local}", derived)


def _linked(found: dict[str, dict[str, Any]], link: Link) -> None:
    name = f"{_local(link.newer)}-{_local(link.older)}"
    for end in (link.newer, link.older):
        _put(found, "entity", end, {})
    if link.relation == "contradicts":
        influence = {"prov:influencee": link.newer, "prov:influencer": link.older, "recollect:relation": link.relation}
        _put(found, "wasInfluencedBy", f"_:influenced-{name}", influence)
        return
    revision = {
        "prov:generatedEntity": link.newer,
        "prov:usedEntity": link.older,
        "prov:type": _name("prov:Revision"),
        "recollect:relation": link.relation,
    }
    _put(found, "wasDerivedFrom", f"_:revised-{name}", revision)


def _activity(found: dict[str, dict[str, Any]], session_uid: str) -> None:
    name = session_name(session_uid)
    _put(found, "activity", name, {"prov:type": _name("recollect:Session"), "prov:label": session_uid})
    who = _agent_of(session_uid)
    if who:
        _put(found, "agent", who, {"prov:type": _name("prov:SoftwareAgent")})
        associated = {"prov:activity": name, "prov:agent": who}
        _put(found, "wasAssociatedWith", f"_:associated-{_local(node_id('session', session_uid))}", associated)


def _agent_of(session_uid: str) -> str:
    slug, colon, _ = session_uid.partition(":")
    return f"agent:{quote(slug, safe='')}" if colon and slug else ""


def _put(found: dict[str, dict[str, Any]], kind: str, name: str, attributes: dict[str, Any]) -> None:
    """Add a record; an existing one without attributes gets them."""
    records = found.setdefault(kind, {})
    if attributes or name not in records:
        records[name] = attributes


def _name(qualified: str) -> dict[str, str]:
    return {"$": qualified, "type": "xsd:QName"}


def _local(name: str) -> str:
    return name.partition(":")[2]


def _time(at: int | None) -> dict[str, str]:
    if at is None:
        return {}
    return {"prov:time": to_datetime(at).isoformat(timespec="microseconds")}
