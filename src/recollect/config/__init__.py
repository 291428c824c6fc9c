"""The configuration: one typed structure, and the only reader and writer of `config.toml`.

Every field carries its own text, from which the reference (`config_reference`, docs/reference/configuration.md) is
made. An unknown key or a wrong value is a `ConfigError` that names the key; nothing is silently ignored.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.config.load import load_config, parse_config
from recollect.config.settings import (
    AgentConfig,
    Config,
    ContextConfig,
    DaemonConfig,
    DistillConfig,
    DocumentsConfig,
    EmbeddingConfig,
    FormatConfig,
    GateConfig,
    GateRuleConfig,
    InfraConfig,
    IngestConfig,
    LearningConfig,
    McpConfig,
    NotifyConfig,
    PrivacyConfig,
    ReposConfig,
    RetentionConfig,
    SearchConfig,
    SecretPatternConfig,
)

# Every command reads a configuration, hardly one writes it: what that needs takes longer to load than to read.
if TYPE_CHECKING:
    from recollect.config.toml import ConfigEntry, config_reference, config_toml, listed_config, setting_texts

_LATE = {
    "ConfigEntry": "toml", "listed_config": "toml", "config_reference": "toml", "config_toml": "toml",
    "setting_texts": "toml",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(name)
    return getattr(import_module(f"recollect.config.{_LATE[name]}"), name)
