"""Run the benchmarks: all of them, or those named (`python -m benchmarks ingest search`)."""

from __future__ import annotations

import sys

from benchmarks import (
    adapters,
    answers,
    context,
    hooks,
    ingest,
    learning,
    locomo,
    mcp,
    pages,
    peers,
    privacy,
    recall,
    search,
    soaking,
    team_import,
    tokens,
    upkeep,
    usage,
    vectors,
)
from benchmarks.distilling import bindings, outcomes, quality, scored, speed
from benchmarks.learning import quality as learned_quality
from benchmarks.serving import clients, live
from benchmarks.support.places import parser, places
from benchmarks.support.results import ORDER, publish

SCRIPTS = {
    "ingest": ingest.measure,
    "peers": peers.measure,
    "search": search.measure,
    "pages": pages.measure,
    "recall": recall.measure,
    "answers": answers.measure,
    "locomo": locomo.measure,
    "context": context.measure,
    "tokens": tokens.measure,
    "vectors": vectors.measure,
    "usage": usage.measure,
    "adapters": adapters.measure,
    "hooks": hooks.measure,
    "mcp": mcp.measure,
    "live": live.measure,
    "clients": clients.measure,
    "distill_outcomes": outcomes.measure,
    "distill_quality": quality.measure,
    "distill_scored": scored.measure,
    "distill_bindings": bindings.measure,
    "distill_speed": speed.measure,
    "learning_quality": learned_quality.measure,
    "learning": learning.measure,
    "privacy": privacy.measure,
    "upkeep": upkeep.measure,
    "team_import": team_import.measure,
    "soak": soaking.measure,
}

BY_HAND = ("soak", "peers")
"""Too long to be part of a run of all."""


def main() -> int:
    """Measure and publish one script after the other; a missing corpus is said and left out."""
    made = parser(__doc__)
    made.add_argument(
        "scripts", nargs="*", metavar="SCRIPT", help=f"one of {', '.join(ORDER)}; default: all but {', '.join(BY_HAND)}"
    )
    made.add_argument("--quick", action="store_true", help="soak, learning, upkeep: try a little of it")
    made.add_argument("--part", choices=(*soaking.PARTS, *learning.PARTS), help="soak, learning: one part")
    options = made.parse_args()
    unknown = [name for name in options.scripts if name not in SCRIPTS]
    if unknown:
        made.error(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ORDER)}")
    at = places(options)
    failed = 0
    wanted = options.scripts or [name for name in ORDER if name not in BY_HAND]
    for name in wanted:
        try:
            publish(SCRIPTS[name](at, options), dry=options.dry)
        except FileNotFoundError as missing:
            print(f"{name} left out: {missing}", file=sys.stderr)
            failed += 1
    return 1 if failed == len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
