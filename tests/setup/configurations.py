"""Configurations as people have them, by agent: comments, servers and hooks of others, odd indentation and line ends.

Paths are below the home. Every file is one that its agent would read.
"""

from __future__ import annotations

from tests.setup.command_line_configurations import COMMAND_LINE

CURSOR = {
    ".cursor/mcp.json": """{
  "mcpServers": {
    "linear": { "url": "https://mcp.linear.app/sse" },
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]
    }
  }
}
""",
    ".cursor/hooks.json": """{
    "version": 1,
    "hooks": {
        "stop": [
            { "command": "./notify.sh" }
        ],
        "beforeShellExecution": [{"command": "audit", "failClosed": true}]
    }
}""",
}

OPENCODE = {
    ".config/opencode/opencode.jsonc": """{
  // theme and model are set in the terminal
  "$schema": "https://opencode.ai/config.json",
  "plugin": ["opencode-wakatime"], /* by name */
  "mcp": {
    "docs": {
      "type": "remote",
      "url": "https://example.test/mcp", // read only
      "enabled": false,
    },
  },
}
""",
    ".config/opencode/plugins/notify.js": "export const Notify = async () => ({})\n",
}

CODEWHALE = {
    ".codewhale/mcp.json": """{
  "timeouts": {"connect_timeout": 10, "execute_timeout": 60},
  "servers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {}, "disabled": false}
  }
}
""",
    ".codewhale/config.toml": """# CodeWhale
model = "deepseek-chat"   # the default

[memory]
enabled = true
# backend = "native"

[[hooks.hooks]]
event = "session_start"
command = "echo started"
""",
}

GROK = {
    ".grok/config.toml": """[ui]
permission_mode = "ask"

# Linear, for the team
[mcp_servers.linear]
url = "https://mcp.linear.app/mcp"
headers = { "x-mcp-session-id" = "{{session_id}}" }

[mcp_servers.files]
command = "npx"
args = [
    "-y",
    "@modelcontextprotocol/server-filesystem",
]
""",
    ".grok/hooks/format.json": '{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "fmt"}]}]}}\n',
}

VSCODE = {
    ".config/Code/User/mcp.json": """{
\t"servers": {
\t\t"github": {
\t\t\t"type": "http",
\t\t\t"url": "https://api.githubcopilot.com/mcp" // signs in by itself
\t\t},
\t},
\t"inputs": []
}
""",
    ".config/Code/User/settings.json": """// Place your settings in this file
{
    "editor.fontSize": 13,
    "chat.agent.enabled": true,
}
""",
}

COPILOT = {
    ".copilot/mcp-config.json": '{"mcpServers": {"playwright": {"type": "local", "command": "npx", "tools": ["*"]}}}',
    ".copilot/session-state/0c1d/events.jsonl": "",
    ".copilot/hooks/audit.json": '{"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "true"}]}}\n',
}

WINDSURF = {
    ".codeium/windsurf/mcp_config.json": (
        '{\r\n  "mcpServers": {\r\n'
        '    "search": {\r\n      "serverUrl": "https://example.test/sse"\r\n    }\r\n  }\r\n}\r\n'
    ),
    ".codeium/windsurf/hooks.json": """{
  "hooks": {
    "post_write_code": [
      { "command": "python3 /srv/format.py", "show_output": true, "working_directory": "/srv" }
    ]
  }
}
""",
}

ZED = {
    ".config/zed/settings.json": """// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "ui_font_size": 16,
  "context_servers": {
    "postgres": {
      "settings": { "database_url": "postgresql://localhost" },
    },
  },
  /* one theme for day, one for night */
  "theme": {
    "mode": "system",
    "dark": "One Dark", // evenings
  },
}
""",
}

GOOSE = {
    ".config/goose/config.yaml": """# goose, set up with `goose configure`
GOOSE_PROVIDER: "anthropic"
GOOSE_MODEL: claude-sonnet   # quick one

extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  memory:
    enabled: true   # keeps notes
    name: memory
    type: builtin
GOOSE_SEARCH_PATHS:
- "/opt/homebrew/bin"
- ~/bin
""",
}

HERMES = {
    ".hermes/config.yaml": """model:
  default: "hermes-4"
  provider: 'nous'

# What it remembers
memory:
  memory_enabled: true
  memory_char_limit: 2200

mcp_servers:
  time:
    command: uvx
    args: [mcp-server-time]

hooks:
  post_tool_call:
    - matcher: "write_file|patch"
      command: "~/.hermes/agent-hooks/auto-format.sh"
hooks_auto_accept: false
""",
    ".hermes/shell-hooks-allowlist.json": """{
  "approvals": [
    {"event": "post_tool_call", "command": "~/.hermes/agent-hooks/auto-format.sh"}
  ]
}
""",
}

PI = {
    ".pi/agent/settings.json": '{\n  "theme": "dark",\n  "extensions": []\n}\n',
    ".pi/agent/extensions/confirm.ts": "export default function () {}\n",
}

CONFIGURATIONS = {
    **COMMAND_LINE,
    "cursor": CURSOR,
    "opencode": OPENCODE,
    "codewhale": CODEWHALE,
    "grok": GROK,
    "vscode": VSCODE,
    "copilot": COPILOT,
    "windsurf": WINDSURF,
    "zed": ZED,
    "goose": GOOSE,
    "hermes": HERMES,
    "pi": PI,
}
