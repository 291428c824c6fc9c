"""A question to a server ends: with the answer, or with an error that says whether trying again would help."""

from __future__ import annotations

import socket
import threading
from email.utils import formatdate
from typing import Any

import pytest

from recollect.endpoints.http import ATTEMPTS, BUSY, MAX_DELAY_S, Poster, PostOptions, RetryClock
from recollect.errors import EndpointRefused, EndpointUnavailable, EndpointUnusable
from tests.endpoints.served import Answer, Asked, Behaviour, serving

Waits = list[float]


@pytest.fixture
def waits() -> Waits:
    return []


def post(
    behaviour: Behaviour, waits: Waits, *, timeout_s: float = 5.0, manner: PostOptions | None = None, **clock: Any
) -> dict[str, Any]:
    with serving(behaviour) as server:
        poster = Poster(
            server.url,
            timeout_s=timeout_s,
            manner=manner,
            clock=RetryClock(sleep=waits.append, jitter=lambda: 1.0, **clock),
        )
        try:
            return poster.post("/x", {"q": 1}, dict)
        finally:
            poster.close()


def always(answer: Answer) -> Behaviour:
    return lambda _asked, _before: answer


def at_last(first: Answer, *, after: int = 1) -> Behaviour:
    """Fail so many times, then answer."""
    return lambda _asked, before: first if before < after else Answer(body=b'{"a": 1}')


@pytest.mark.parametrize("status", sorted(BUSY))
def test_a_busy_server_is_asked_again(status: int, waits: Waits) -> None:
    assert post(at_last(Answer(status=status), after=3), waits) == {"a": 1}
    assert waits == [0.5, 1.0, 2.0]


def test_a_server_that_stays_busy_is_unavailable(waits: Waits) -> None:
    with pytest.raises(EndpointUnavailable, match=r"HTTP 503.*try later") as caught:
        post(always(Answer(status=503, body=b"try\nlater")), waits)
    assert (len(waits), caught.value.status, caught.value.retryable) == (ATTEMPTS - 1, 503, True)


def test_what_the_server_says_of_waiting_is_obeyed(waits: Waits) -> None:
    assert post(at_last(Answer(status=429, headers=(("retry-after", "7"),))), waits) == {"a": 1}
    assert waits == [7.0]


def test_a_date_to_wait_for_that_is_past_means_now(waits: Waits) -> None:
    assert post(at_last(Answer(status=429, headers=(("retry-after", formatdate(0, usegmt=True)),))), waits)
    assert waits == [0.0]


@pytest.mark.parametrize("value", ["soon", "", "-5", "１２", "9" * 400])
def test_nonsense_to_wait_for_is_no_number_or_too_long(value: str, waits: Waits) -> None:
    header = (("retry-after", value.encode("ascii", "ignore").decode()),)
    try:
        post(at_last(Answer(status=429, headers=header)), waits)
        assert waits == [0.5]
    except EndpointUnavailable:
        assert waits == []


def test_a_server_that_wants_long_is_not_waited_for(waits: Waits) -> None:
    with pytest.raises(EndpointUnavailable):
        post(at_last(Answer(status=429, headers=(("retry-after", str(int(MAX_DELAY_S) + 1)),))), waits)
    assert waits == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_a_refusal_is_not_asked_again(status: int, waits: Waits) -> None:
    with pytest.raises(EndpointRefused) as caught:
        post(always(Answer(status=status, body=b'{"error": "no\x1b[31m"}')), waits)
    assert (waits, caught.value.status, caught.value.retryable) == ([], status, False)
    assert "\x1b" not in str(caught.value)


def test_no_redirect_is_followed(waits: Waits) -> None:
    with serving(always(Answer(body=b"{}"))) as elsewhere:
        target = (("location", elsewhere.url + "/x"),)
        with pytest.raises(EndpointRefused, match="nothing is sent there"):
            post(always(Answer(status=307, headers=target)), waits)
        assert elsewhere.asked == []


def test_nobody_listens(waits: Waits) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    poster = Poster(f"http://127.0.0.1:{port}", timeout_s=2, clock=RetryClock(sleep=waits.append, jitter=lambda: 1.0))
    with pytest.raises(EndpointUnavailable, match="cannot be reached"):
        poster.post("/x", {}, dict)
    poster.close()
    assert len(waits) == ATTEMPTS - 1


def test_a_silent_server_is_too_slow(waits: Waits) -> None:
    never = threading.Event()
    with pytest.raises(EndpointUnavailable, match="longer than 50 ms"):
        post(always(Answer(body=b"{}", pause=never)), waits, timeout_s=0.05)


def test_a_server_that_trickles_is_too_slow_although_no_single_read_is(waits: Waits) -> None:
    clock = iter(float(n) for n in range(10_000))
    with pytest.raises(EndpointUnavailable, match="longer than 3 s"):
        post(
            always(Answer(body=b'{"a":' + b" " * 400_000 + b"1}", pieces=8)), waits, timeout_s=3.0,
            now=lambda: next(clock) * 2,
        )  # fmt: skip


def test_an_answer_that_breaks_off_is_asked_for_again(waits: Waits) -> None:
    assert post(at_last(Answer(body=b'{"a": 1', is_cut=True)), waits) == {"a": 1}
    assert waits == [0.5]


def test_an_answer_without_end_is_cut_off(waits: Waits) -> None:
    with pytest.raises(EndpointUnusable, match="more than 10 KiB"):
        post(always(Answer(body=b" " * 50_000)), waits, manner=PostOptions(max_answer_bytes=10 * 1024))
    assert waits == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1, 2]", b'{"a": NaN}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_the_answer_asked_for_is_unusable(body: bytes, waits: Waits) -> None:
    with pytest.raises(EndpointUnusable, match="something else"):
        post(always(Answer(body=body)), waits)


def test_headers_are_asked_for_every_call() -> None:
    keys = iter("ab")
    seen: list[str] = []

    def behave(asked: Asked, _before: int) -> Answer:
        seen.append(asked.headers["authorization"])
        return Answer(body=b"{}")

    with serving(behave) as server:
        poster = Poster(server.url, timeout_s=5, headers=lambda: {"authorization": next(keys)})
        poster.post("/x", {}, dict)
        poster.post("/x", {}, dict)
        poster.close()
    assert seen == ["a", "b"]
