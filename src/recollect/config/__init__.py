"""The configuration: one typed structure, and the only reader and writer of `config.toml`.

Every field carries its own text, from which the reference (`config_reference`, docs/reference/configuration.md) is
made. An unknown key or a wrong value is a `ConfigError` that names the key; nothing is silently ignored.
"""

from typing import TYPE_CHECKING, Any

from recollect.config.load import load_config, parse_config
from recollect.config.sections import (
    DaemonConfig,
    DocumentsConfig,
    LearningConfig,
    McpConfig,
    NotifyConfig,
    RetentionConfig,
)
from recollect.config.settings import (
    AgentConfig,
    Config,
    ContextConfig,
    DistillConfig,
    EmbeddingConfig,
    FormatConfig,
    GateConfig,
    GateRuleConfig,
    InfraConfig,
    IngestConfig,
    PrivacyConfig,
    ReposConfig,
    SearchConfig,
    SecretPatternConfig,
)

# Every command reads a configuration, hardly one writes it: what that needs takes longer to load than to read.
if TYPE_CHECKING:
    from recollect.config.toml import config_reference, config_toml

__all__ = [
    "AgentConfig",
    "Config",
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
    "load_config",
    "parse_config",
]


def __getattr__(name: str) -> Any:
    if name not in ("config_reference", "config_toml"):
        raise AttributeError(name)
    from recollect.config import toml

    return getattr(toml, name)
