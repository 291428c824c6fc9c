"""Names and abilities of our own agents, without loading an adapter; for the hook and for name lookup.

Standard library only. `make docs` writes the tables from the agents' files in `recollect/agents/formats`. The agents of
packages and of the configuration are known to `recollect.agents.registry.slug_of` besides.
"""

from __future__ import annotations

OWN: dict[str, str] = {
    "claude": "cc claudecode",
    "codex": "codexcli openaicodex",
    "grok": "grokbuild grokcli xaigrok",
    "opencode": "kilocli mimo mimocode opencodeai",
    "codewhale": "deepseektui",
    "hermes": "hermesagent noushermes",
    "gemini": "geminicli",
    "cursor": "cursoragent cursorcli cursoride",
    "vscode": "copilotchat githubcopilotchat vscodecopilot vscodecopilotchat",
    "copilot": "copilotcli githubcopilotcli",
    "windsurf": "cascade codeium windsurfnext",
    "zed": "zedagent zedai",
    "pi": "ohmypi omp picodingagent pimono prime primeagent",
    "openclaw": "clawdbot qclaw",
    "kimi": "kimicli kimicode kimiwork",
    "qwen": "qwencode",
    "cline": "claudedev saoudrizwanclaudedev",
    "roo": "roocline roocode rooveterinaryincroocline",
    "kilo": "kilocode kilocodekilocode kilocodelegacy kilolegacy",
    "aider": "aiderchat",
    "goose": "blockgoose codenamegoose",
    "amp": "ampcode sourcegraphamp",
    "kiro": "amazonq kirocli kiroide q",
    "continue": "cn continuecli continuedev",
    "openhands": "opendevin",
    "sweagent": "",
    "crush": "charmbraceletcrush charmcrush",
    "chatgpt": "openaichatgpt",
    "claudeai": "claudeweb",
    "slack": "slackexport",
    "droid": "factory factorydroid",
    "vibe": "mistralvibe",
    "gptme": "",
    "poolside": "laguna pool poolsideagent",
    "dsh": "deepseek deepseekharness",
    "codebuff": "freebuff manicode",
    "antigravity": "agy antigravitycli googleantigravity",
    "forge": "antinomyforge forgecode",
    "otel": "opentelemetry opentelemetrygenai otelgenai otlp visualstudiocopilot",
    "shelley": "exedev exeshelley",
    "reasonix": "deepseekreasonix",
    "openclaude": "",
    "commandcode": "cmdcode",
    "copaw": "qwenpaw",
    "cortex": "cortexcode snowflakecortex",
    "iflow": "iflowcli",
    "posit": "positassistant",
    "qoder": "qodercli",
    "traex": "traecli",
    "workbuddy": "tencentworkbuddy",
    "zencoder": "zencli zencodercli",
}
"""By slug, every other name in the letters that count."""
ANSWERS: dict[str, tuple[dict[str, object], bytes]] = {
    "claude": (
        {
            "start": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "compact": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "prompt": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "{context}"}},
        },
        b"",
    ),
    "codex": (
        {
            "start": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "compact": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "prompt": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "{context}"}},
        },
        b"",
    ),
    "grok": ({}, b""),
    "opencode": ({"start": "{context}", "compact": "{context}", "prompt": "{context}"}, b""),
    "codewhale": ({}, b""),
    "gemini": (
        {
            "start": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "compact": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "prompt": {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "{context}"}},
        },
        b"{}",
    ),
    "cursor": ({"start": {"additional_context": "{context}"}, "compact": {"additional_context": "{context}"}}, b"{}"),
    "vscode": (
        {
            "start": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "compact": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
        },
        b"{}",
    ),
    "copilot": ({"start": {"additionalContext": "{context}"}}, b"{}"),
    "windsurf": ({}, b""),
    "pi": ({"start": "{context}", "compact": "{context}", "prompt": "{context}"}, b""),
    "kimi": ({"prompt": "{context}"}, b""),
    "qwen": (
        {
            "start": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "compact": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "{context}"}},
            "prompt": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "{context}"}},
        },
        b"{}",
    ),
}
"""By slug, what an agent takes as an answer to a hook by event, and the answer that says nothing; see `HookFacts`."""
HOST_VARIABLES: dict[str, str] = {"GROK_HOOK_EVENT": "grok", "CURSOR_VERSION": "cursor"}
"""By the environment variable that it sets for every hook, the agent that may run another agent's hooks."""


def letters(name: str) -> str:
    """Return what counts of a name: its letters and digits, in small letters."""
    return "".join(c for c in name.casefold() if c.isalnum())


def own_slug(name: str) -> str:
    """Return the slug of our own agent with this name; an unknown name unchanged."""
    if name in OWN:
        return name
    wanted = letters(name)
    return wanted if wanted in OWN else next((slug for slug, names in OWN.items() if wanted in names.split()), name)
