"""VS Code Copilot Chat: where its hosts write and what their sessions can give. Facts only."""

from __future__ import annotations

from recollect.agents.kit.facts import kinds_but
from recollect.model.capabilities import AgentFacts, Capabilities, HookFacts, Place, Root, Table

LOG = "log"
SAVED = "saved"
SESSION = "session"
STATE = "state"
TRANSCRIPT = "transcript"
WORKSPACE = "workspace"

_HOSTS = ("Code", "Code - Insiders", "VSCodium", "Positron")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".positron-server")
_FOLDERS = (
    "workspaceStorage/*/chatSessions",
    "globalStorage/emptyWindowChatSessions",
    "globalStorage/transferredChatSessions",
)

FACTS = AgentFacts(
    slug="vscode",
    name="VS Code Copilot Chat",
    aliases=("vscode-copilot", "copilot-chat", "vscode-copilot-chat", "github-copilot-chat"),
    roots=(
        *(Root(variable="XDG_CONFIG_HOME", default=".config", below=f"{host}/User") for host in _HOSTS),
        *(Root(variable="", default="Library/Application Support", below=f"{host}/User") for host in _HOSTS),
        *(Root(variable="APPDATA", default="AppData/Roaming", below=f"{host}/User") for host in _HOSTS),
        *(Root(variable="", default=server, below="data/User") for server in _SERVERS),
    ),
    places=(
        Place(role=LOG, container="patchlog", patterns=tuple(f"{folder}/*.jsonl" for folder in _FOLDERS)),
        Place(
            role=SESSION,
            container="snapshot",
            patterns=tuple(f"{folder}/*.json" for folder in _FOLDERS),
            split=("requests",),
        ),
        Place(
            role=STATE,
            container="sqlite",
            patterns=("workspaceStorage/*/state.vscdb", "globalStorage/state.vscdb"),
            lane=1,
            tables=(Table(name="ItemTable", order=("key",), json=("value",), keys=("interactive.sessions",)),),
        ),
        Place(role=SAVED, container="export", patterns=(), document_keys=("sessionId",)),
        Place(
            role=TRANSCRIPT,
            container="jsonl",
            patterns=("workspaceStorage/*/GitHub.copilot-chat/transcripts/*.jsonl",),
            lane=1,
        ),
        Place(role=WORKSPACE, container="snapshot", patterns=("workspaceStorage/*/workspace.json",), lane=2),
    ),
    capabilities=Capabilities(
        container="patchlog",
        rewrites_history=True,
        timestamps="partly",
        usage="partly",
        usage_authority="result.metadata.promptTokens and outputTokens, else result.usage, once per request",
        thinking="partly",
        edits="partly",
        lineage="no",
        session_end="no",
        kinds=kinds_but("session_end"),
        notes=(
            "Only requests have times; those of answers are inferred. Tokens are of a request's last call, cached ones "
            "not told apart. The folder is that of the answers' links. The extension's transcripts repeat a session."
        ),
        verified_version="1.119.0",
        verified_on="2026-11-21",
        evidence="format notes: VS Code Copilot Chat; recorded sessions of the extension 0.31, 0.37 and 0.47",
        verified_by="recording",
    ),
    hooks=HookFacts(shares_call_ids=True),
    parser_version=2,
)
