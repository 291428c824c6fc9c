"""Nothing of the web is loaded by those who don't serve, and of what serves only what is needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LOOK = """
import sys
from recollect.cli.main import run
run({argv})
heavy = ("starlette", "uvicorn", "mcp", "mcp_types", "pydantic", "google.protobuf", "opentelemetry")
sys.exit(", ".join(name for name in heavy if name in sys.modules) or 0)
"""


@pytest.mark.parametrize(
    "argv", [["--help"], ["mcp", "--help"], ["otlp", "--help"], ["sync"], ["doctor"]], ids=" ".join
)
def test_other_verbs_load_no_server_and_no_protobuf(argv: list[str]):
    done = subprocess.run([sys.executable, "-c", LOOK.format(argv=argv)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


LISTED = """
import json, sys
from recollect.serve.mcp.sdk import load
load(with_http={with_http})
import recollect.serve.mcp.server
{then}
print(json.dumps(sorted(sys.modules)))
"""
SERVED = """
from mcp.server.lowlevel.server import Server
app = Server("x").streamable_http_app(session_idle_timeout=9, max_sessions=1, max_request_body_size=9)
assert type(app).__module__ == "starlette.applications", type(app)
assert app.routes[0].path == "/mcp"
import mcp_types
from mcp.server.auth.settings import AuthSettings
from mcp.client.session import ClientSession
"""


def loaded(*, with_http: bool = False, then: str = "") -> set[str]:
    """Return the modules of a process that has made itself ready to serve."""
    script = LISTED.format(with_http=with_http, then=then)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_over_standard_input_nothing_of_the_web_and_no_client_is_loaded() -> None:
    found = loaded()
    assert "mcp.server.lowlevel.server" in found
    unneeded = ("starlette.applications", "uvicorn", "httpx2", "mcp.client", "mcp.server.mcpserver", "tantivy", "apsw")
    assert [name for name in unneeded if name in found] == []


def test_what_was_left_out_is_loaded_when_it_is_used() -> None:
    assert {"starlette.applications", "mcp.client.session"} <= loaded(then=SERVED)


VERSIONS = """
from mcp_types import methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
import pydantic, mcp_types
def versions():
    return sorted(name for name in sys.modules if name.startswith("mcp_types._v"))
assert versions() == [], versions()
methods.validate_client_request("tools/list", "2025-11-25", {})
assert versions() == ["mcp_types._v2025_11_25"], versions()
from mcp_types import _v2026_07_28 as newest
assert isinstance(newest.CallToolResult, type)
assert "defer_build" not in pydantic.BaseModel.model_config
tables = (methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS, methods.SERVER_REQUESTS,
          methods.SERVER_NOTIFICATIONS, methods.SERVER_RESULTS, methods.CLIENT_RESULTS)
schemas = {repr(key): methods._adapter(model).json_schema() for table in tables for key, model in table.items()}
"""
WHOLE = """
import json, sys
from mcp_types import methods
tables = (methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS, methods.SERVER_REQUESTS,
          methods.SERVER_NOTIFICATIONS, methods.SERVER_RESULTS, methods.CLIENT_RESULTS)
schemas = {repr(key): methods._adapter(model).json_schema() for table in tables for key, model in table.items()}
print(json.dumps(schemas, sort_keys=True))
"""


def test_a_versions_models_are_loaded_when_a_client_speaks_it_and_are_the_same() -> None:
    """Every message of every version is checked by the same rules as where the SDK is loaded as it is."""
    in_part = LISTED.format(with_http=False, then=f"{VERSIONS}\nprint(json.dumps(schemas, sort_keys=True)); sys.exit()")
    said = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        for script in (in_part, WHOLE)
    ]
    assert [done.stderr for done in said] == ["", ""]
    schemas = json.loads(said[0].stdout)
    assert len(schemas) > 50
    assert schemas == json.loads(said[1].stdout)


def test_over_http_the_whole_server_is_loaded() -> None:
    found = loaded(with_http=True)
    assert "mcp.server.streamable_http_manager" in found
    assert "mcp.client" not in found


def test_an_sdk_of_another_layout_is_loaded_whole() -> None:
    """What is put off is known of one version; another must work as well, if more slowly."""
    script = """
from recollect.serve.mcp import sdk
def elsewhere():
    raise ImportError("no such module in this version")
sdk._deferred_models = elsewhere
sdk.load(with_http=False)
import mcp, mcp.server.lowlevel.server
assert "mcp.client.session" in __import__("sys").modules
mcp.server.lowlevel.server.Server("x").streamable_http_app()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_process_that_has_the_sdk_keeps_it() -> None:
    """This one: the tests use the client."""
    import mcp

    from recollect.serve.mcp.sdk import load

    before = dict(sys.modules)
    load(with_http=False)
    assert sys.modules["mcp"] is mcp
    assert sys.modules == before
