"""Configurations of Claude Code, Codex, Gemini CLI, Qwen Code and Kimi Code, as people have them.

Paths are below the home. Every file is one that its agent would read.
"""

from __future__ import annotations

CLAUDE = {
    ".claude.json": """{
  "numStartups": 184,
  "installMethod": "native",
  "projects": {"/srv/shop": {"allowedTools": [], "mcpServers": {}, "hasTrustDialogAccepted": true}},
  "oauthAccount": {"emailAddress": "ada@example.test", "accessToken": "EXAMPLE-NOT-A-TOKEN-0000"},
  "mcpServers": {
    "docs": {
      "type": "http",
      "url": "https://example.test/mcp"
    }
  },
  "tipsHistory": {}
}
""",
    ".claude/settings.json": (
        '{\r\n    "$schema": "https://json.schemastore.org/claude-code-settings.json",\r\n'
        '    "autoMemoryEnabled": true,\r\n'
        '    "permissions": {"allow": ["Bash(npm test:*)"], "deny": []},\r\n'
        '    "hooks": {\r\n'
        '        "PostToolUse": [\r\n'
        '            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "prettier --write"}]}\r\n'
        "        ],\r\n"
        '        "Stop": []\r\n'
        "    },\r\n"
        '    "statusLine": {"type": "command", "command": "~/.claude/line.sh"}\r\n'
        "}"
    ),
    ".claude/skills/review/SKILL.md": "---\nname: review\ndescription: mine\n---\n",
}

CODEX = {
    ".codex/config.toml": """# everyday settings
model = "gpt-5-codex"    # the fast one
approval_policy = "on-request"

[projects."/srv/shop"]
trust_level = "trusted"

[mcp_servers.docs]
command = "npx"
args = [
    "-y", # yes
    "docs-server",
]

[features]
memories = true   # trying it
web_search = true

[mcp_servers.docs.env]
KEY = "value"

[hooks.state."/home/ada/.codex/hooks.json:stop:0:0"]
trusted_hash = "sha256:0000"
""",
    ".codex/hooks.json": (
        '{"description": "mine", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}\n'
    ),
}

GEMINI = {
    ".gemini/settings.json": """{
\t// Gemini strips comments
\t"ui": { "theme": "GitHub" },
\t"hooks": {
\t\t"BeforeTool": [
\t\t\t{ "matcher": "write_file", "hooks": [{ "type": "command", "command": "check.sh" }] } // careful
\t\t]
\t},
\t/* servers */
\t"mcpServers": {}
}
""",
}

QWEN = {
    ".qwen/settings.json": """{
  "$version": 3,
  "memory": {
    "enableManagedAutoMemory": true, // notes of its own
    "enableManagedAutoDream": false
  },
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "files"],
      "trust": true
    }
  }
}""",
}

KIMI = {
    ".kimi-code/mcp.json": '{"mcpServers": {"linear": {"url": "https://mcp.linear.app/mcp"}}}\n',
    ".kimi-code/config.toml": """default_model = "kimi-code/k3"
telemetry = false

[providers."managed:kimi-code"]
type = "kimi"
base_url = "https://api.kimi.com/coding/v1"

[[hooks]]
event = "Notification"           # when a task is done
matcher = "task\\\\.completed"
command = "notify-send done"

[[permission.rules]]
decision = "allow"
pattern = "mcp__linear__*"
""",
}

COMMAND_LINE = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "qwen": QWEN, "kimi": KIMI}
