"""Slack: parses one day of a channel into events. Pure; never raises on content."""

import re
from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, KitAdapter, Reading, read_odd
from recollect.agents.kit.exports import first_element
from recollect.agents.kit.names import content_sha256
from recollect.agents.kit.values import items, mapping, text, whole, word_set
from recollect.model.payloads import Lifecycle, Origin, Part, UserMessage
from recollect.model.records import SourceInfo

CHANNEL = "channel"

# The messages of a channel: people's words, what apps posted, and what happened to the channel.

_STAMP = re.compile(r"\d{9,11}(?:\.\d{1,9})?", re.ASCII)
_SPOKEN = frozenset((
    "", "thread_broadcast", "reply_broadcast", "me_message", "file_share", "file_comment", "file_mention",
    "huddle_thread", "slackbot_response",
))  # fmt: skip
_POSTED = frozenset(("bot_message", "slackbot_response", "reminder_add", "assistant_app_thread"))
_CHANNEL = word_set("""
    channel_join channel_leave channel_topic channel_purpose channel_name channel_archive channel_unarchive
    channel_posting_permissions channel_convert_to_private channel_convert_to_public group_join group_leave group_topic
    group_purpose group_name group_archive group_unarchive pinned_item unpinned_item bot_add bot_remove bot_enable
    bot_disable sh_room_created sh_room_shared joiner_notification joiner_notification_for_inviter tombstone
    tabbed_canvas_updated document_mention channel_canvas_updated app_conversation_join app_conversation_leave
    conversation_join conversation_leave ekm_access_denied message_changed message_deleted message_replied
    bot_channel_join bot_channel_leave mpim_join mpim_leave reply_mention list_record_comment
""")
_KNOWN = known_fields("slack")
_ABOUT = ("reactions", "edited", "pinned_to", "topic", "purpose", "old_name", "name", "inviter", "item", "room")
"""What is known of a message beside its words. Whoever reacted stands there by id."""
_ATTACHED = ("pretext", "title", "title_link", "from_url", "text", "fallback", "footer")
_MAX_NODES = 20_000


def is_stamp(value: object) -> bool:
    """Say whether a value is a time as Slack writes it: `1355517523.000005`."""
    return isinstance(value, str) and _STAMP.fullmatch(value) is not None


def read_message(reading: Reading[BaseState], message: dict[str, Any]) -> None:
    """Emit one message. It is called after its time; an answer in a thread names the message that began it."""
    written = text(message.get("ts"))
    name = written if is_stamp(written) else f"h-{content_sha256(message)}"
    thread = text(message.get("thread_ts"))
    reading.parent_id = thread if is_stamp(thread) and thread != written else None
    kind = text(message.get("type"))
    subtype = text(message.get("subtype"))
    if kind not in ("message", ""):
        reading.unknown(f"message/{kind}", _public(message), native_id=name)
    elif subtype in _CHANNEL:
        _read_change(reading, name, subtype, message)
    else:
        reading.odd_value("message.subtype", subtype, _SPOKEN | _POSTED)
        _read_words(reading, name, subtype, message)
    about = {field: message[field] for field in _ABOUT if message.get(field)}
    if about:
        reading.add(Lifecycle("about", detail=_public(about)), native_id=f"{name}/about")
    reading.extra(message, _KNOWN["message"], "message", native_id=name)
    reading.parent_id = None


def _read_words(reading: Reading[BaseState], name: str, subtype: str, message: dict[str, Any]) -> None:
    """Emit what somebody wrote, and behind it what Slack or an app attached: previews, forms, quoted messages."""
    is_posted = bool(message.get("bot_id")) or subtype in _POSTED or message.get("user") in (None, "", "USLACKBOT")
    origin: Origin = "injected" if is_posted else "human"
    words = text(message.get("text")) or _words_of(message.get("blocks"))
    parts = tuple(_file(mapping(one)) for one in (*items(message.get("files")), *_one(message.get("file"))))
    if words or parts:
        who = text(message.get("user")) or text(message.get("bot_id"))
        reading.add(UserMessage(f"<@{who}>: {words}" if who else words, origin, parts), native_id=name)
    for n, attached in enumerate(map(mapping, items(message.get("attachments"))), 1):
        lines = [text(attached.get(field)) for field in _ATTACHED]
        lines += [f"{text(one.get('title'))}: {text(one.get('value'))}" for one in _fields(attached)]
        lines.append(_words_of(attached.get("blocks")) or _words_of(attached.get("message_blocks")))
        shown = "\n".join(dict.fromkeys(line for line in lines if line))
        reading.say(UserMessage(shown, "injected"), native_id=f"{name}/attachment/{n}")


def _read_change(reading: Reading[BaseState], name: str, subtype: str, message: dict[str, Any]) -> None:
    """Emit what happened in a channel. Exports with a log of edits have the old and the new message inside."""
    who = text(message.get("user"))
    words = text(message.get("text"))
    lines = [f"<@{who}>: {words}" if who and words else words or (f"<@{who}>" if who else "")]
    for field in ("message", "original", "previous", "previous_message"):
        inner = mapping(message.get(field))
        if inner:
            lines.append(f"{field}: <@{text(inner.get('user'))}>: {text(inner.get('text'))}")
    reading.add(Lifecycle(subtype, text="\n".join(line for line in lines if line)), native_id=name)


def _file(one: dict[str, Any]) -> Part:
    """Return a file. Its private address carries a token that opens it; the public page's does not."""
    return Part(
        type="file",
        media_type=text(one.get("mimetype")),
        bytes=max(0, whole(one.get("size")) or 0),
        path=text(one.get("name")) or text(one.get("title")) or text(one.get("id")),
        url=text(one.get("permalink")).partition("?")[0],
    )


def _one(value: Any) -> list[Any]:
    return [value] if isinstance(value, dict) else []


def _fields(attached: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in map(mapping, items(attached.get("fields"))) if one]


def _words_of(blocks: Any) -> str:
    """Return the words of blocks, in order; people and channels as Slack writes them in text."""
    lines: list[str] = []
    stack: list[Any] = [blocks]
    for _ in range(_MAX_NODES):
        if not stack:
            break
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            said = value.get("text")
            if isinstance(said, str):
                lines.append(said)
            elif value.get("type") == "user":
                lines.append(f"<@{text(value.get('user_id'))}>")
            elif value.get("type") in ("link", "emoji"):
                lines.append(text(value.get("url")) or f":{text(value.get('name'))}:")
            stack.extend(v for k, v in reversed(value.items()) if isinstance(v, dict | list) and k != "accessory")
    return "".join(lines) if len(lines) < 2 else " ".join(line.strip() for line in lines if line.strip())


def _public(value: dict[str, Any]) -> dict[str, Any]:
    """Return fields without the profiles that repeat people's names and pictures."""
    return {
        k: {a: b for a, b in v.items() if a not in ("user_profile", "files")} if isinstance(v, dict) else v
        for k, v in value.items()
        if k not in ("user_profile", "bot_profile")
    }


_TEAM = re.compile(rb'\\?"team\\?"\s*:\s*\\?"([TE][A-Z0-9]{2,20})\\?"')
_DAY = re.compile(r"(?:^|/)\d{4}-\d\d-\d\d\.json$", re.ASCII)
_PERSON = re.compile(r"[UW][A-Z0-9]{4,20}")
_HEAD_BYTES = 60_000
"""A head of fewer bytes is the whole file."""
_WRITERS = frozenset(("user", "bot_id", "subtype", "username"))


class SlackAdapter(KitAdapter[BaseState], slug="slack"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a list of messages, each with its time as Slack writes it, and who wrote it.

        Where a long first message is cut before its time, the file's name must be a day's.
        """
        if b'"message"' not in head or not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            return None
        first = first_element(head) or {}
        is_cut = "ts" not in first and len(head) >= _HEAD_BYTES and _DAY.search(path) is not None
        is_person = is_cut and _PERSON.fullmatch(text(first.get("user"))) is not None
        is_message = first.get("type") == "message" and (is_stamp(first.get("ts")) or is_person)
        return CHANNEL if is_message and first.keys() & _WRITERS else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the channel, below its workspace where a message names it."""
        team = _TEAM.search(head)
        channel = info.document or info.stem
        return f"{team.group(1).decode()}/{channel}" if team else channel

    def read(self, reading: Reading[BaseState]) -> None:
        day = reading.record.value
        if not isinstance(day, list):
            read_odd(reading)
            return
        for value in day:
            message = mapping(value)
            if not message:
                reading.wrong("message")
                reading.kept("message", value)
                continue
            # Take the time of a message, which is also its name: seconds and a number that makes it unique.
            written = text(message.get("ts"))
            if is_stamp(written):
                seconds, _, micros = written.partition(".")
                reading.date(int(seconds) * 1_000_000 + int((micros + "000000")[:6]), "ts")
            else:
                reading.wrong("ts", "bad_timestamp")
                reading.infer(reading.last_ts)
                if reading.last_ts is None:
                    reading.ts_quality = "missing"
            if not reading.now("is_started"):
                reading.set(is_started=True)
                reading.start(originator="slack")
                channel = reading.state.document
                if channel:
                    reading.add(Lifecycle("title", title=f"#{channel}"), native_id="title")
            read_message(reading, message)
