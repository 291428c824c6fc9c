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
    from recollect.config.entries import ConfigEntry, listed_config
    from recollect.config.toml import config_reference, config_toml, setting_texts

__all__ = [
    "AgentConfig",
    "Config",
    "ConfigEntry",
    "ContextConfig",
    "DaemonConfig",
    "DistillConfig",
    "DocumentsConfig",
    "EmbeddingConfig",
    "FormatConfig",
    "GateConfig",
    "GateRuleConfig",
    "InfraConfig",
    "IngestConfig",
    "LearningConfig",
    "McpConfig",
    "NotifyConfig",
    "PrivacyConfig",
    "ReposConfig",
    "RetentionConfig",
    "SearchConfig",
    "SecretPatternConfig",
    "config_reference",
    "config_toml",
    "listed_config",
    "load_config",
    "parse_config",
    "setting_texts",
]


_LATE = {"ConfigEntry": "entries", "listed_config": "entries"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"recollect.config.{_LATE.get(name, 'toml')}"), name)
