"""Start a team's server with a PostgreSQL of its own on this machine, for trying out, until Ctrl-C.

What was tried stays in `build/team`; remove the folder to begin anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.local_postgres import LocalPostgres, programs  # noqa: E402


def main() -> int:
    """Serve; return the exit code."""
    if programs() is None:
        print("no PostgreSQL for this platform comes as a wheel; see docs/team.md for your own", file=sys.stderr)
        return 1
    folder = ROOT / "build" / "team"
    is_new = not (folder / "data").exists()
    postgres = LocalPostgres(folder)
    try:
        from recollect.team.administration import make_team
        from recollect.team.database import AdministratorDatabase

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
