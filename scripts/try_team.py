"""Start a team's server with a PostgreSQL of its own on this machine, for trying out, until Ctrl-C.

What was tried stays in `build/team`; remove the folder to begin anew.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from scripts.local_postgres import LocalPostgres, programs

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Serve; return the exit code."""
    if programs() is None:
        print(
            "no wheel of PostgreSQL for this platform; `recollect help share-with-a-team` says how to use yours",
            file=sys.stderr,
        )
        return 1
    # PostgreSQL is stopped however this ends.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = ROOT / "build" / "team"
    is_new = not (folder / "data").exists()
    postgres = LocalPostgres(folder)
    try:
        from recollect.team.database import AdministratorDatabase, make_team

        with AdministratorDatabase(postgres.url) as database:
            if is_new:
                made = make_team(database, "trial", "me")
                print(f"invitation for `recollect team join http://127.0.0.1:4320`:\n{made.code}")
            database.migrate()
            url = database.server_url()
        print(f"RECOLLECT_TEAM_DATABASE={postgres.url} invites, lists and grants")
        sys.stdout.flush()
        env = {**os.environ, "RECOLLECT_TEAM_DATABASE": url}
        return subprocess.run([sys.executable, "-m", "recollect", "team", "serve"], env=env, check=False).returncode
    except KeyboardInterrupt:
        return 0
    finally:
        postgres.close()


if __name__ == "__main__":
    sys.exit(main())
