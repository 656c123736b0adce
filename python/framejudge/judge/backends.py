"""Where a judge is, its name and its key: settled before any frame is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from framejudge.errors import ConfigurationError

__all__ = [
    "BACKENDS",
    "DEFAULT_API_KEY_ENV",
    "DEFAULT_MODEL",
    "ENDPOINT_ENVS",
    "JudgeSettings",
    "RequestProfile",
    "check_key_name",
    "resolve_judge",
    "resolve_model",
    "stored_key",
]

BackendName = Literal["self-hosted", "api", "stub"]
BACKENDS: tuple[BackendName, ...] = ("self-hosted", "api", "stub")
DEFAULT_MODEL = "Qwen/Qwen2-VL-7B-Instruct"
DEFAULT_API_KEY_ENV = "VLM_EVAL_API_KEY"

_DEFAULT_HOSTED_MODEL = "MiniMaxAI/MiniMax-M3"
_STUB_MODEL = "vlm-eval-stub"
_DEFAULT_ENDPOINT = {
    "self-hosted": "http://127.0.0.1:8000/v1",
    "api": "https://api.tokenfactory.nebius.com/v1/",
}
ENDPOINT_ENVS = {
    "self-hosted": ("FRAMEJUDGE_ENDPOINT_URL", "VLM_EVAL_ENDPOINT_URL", "VLM_EVAL_BASE_URL"),
    "api": (
        "FRAMEJUDGE_API_BASE_URL",
        "VLM_EVAL_API_BASE_URL",
        "OPENAI_BASE_URL",
        "NEBIUS_TOKEN_FACTORY_BASE_URL",
        "NEBIUS_BASE_URL",
    ),
}
_MODEL_ENVS = ("FRAMEJUDGE_SELF_HOSTED_MODEL", "NPA_VLM_SELF_HOSTED_MODEL")
_KEY_ENVS = ("NEBIUS_TOKEN_FACTORY_KEY", "OPENAI_API_KEY")
_READY_ENVS = ("FRAMEJUDGE_VLM_READY_TIMEOUT_S", "NPA_VLM_READY_TIMEOUT_S")
_DEFAULT_READY_TIMEOUT_S = 600.0
_CREDENTIALS = Path("~/.npa/credentials.yaml")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class RequestProfile:
    """What one model's requests have beside the messages."""

    parameters: Mapping[str, Any]

    @property
    def shares_temperature(self) -> bool:
        """Whether it takes the temperature that other models take."""
        return "temperature" in self.parameters


_COMMON: dict[str, Any] = {"temperature": 0, "response_format": {"type": "json_object"}}
_PROFILES: dict[str, dict[str, Any]] = {
    "nvidia/Nemotron-3_5-Lightning": _COMMON | {"chat_template_kwargs": {"enable_thinking": False}},
    "MiniMaxAI/MiniMax-M3": {
        "temperature": 0,
        "chat_template_kwargs": {"thinking_mode": "disabled"},
    },
    "moonshotai/Kimi-K3": {
        "response_format": {"type": "json_object"},
        "reasoning_effort": "low",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """A judge that can be called; the key is never part of what is shown."""

    backend: BackendName
    model: str
    """The effective one: defaults and environment variables are resolved."""
    url: str
    """Of chat completions; empty for the stub."""
    profile: RequestProfile
    timeout_s: float
    ready_timeout_s: float
    api_key: str = field(default="", repr=False)

    @property
    def models_url(self) -> str:
        """Of the list of the server's models, beside chat completions."""
        return f"{self.url.removesuffix('/chat/completions')}/models"

    @property
    def role(self) -> Literal["self-hosted", "hosted-api"]:
        """What evidence calls the endpoint."""
        return "hosted-api" if self.backend == "api" else "self-hosted"

    @property
    def enforces_model(self) -> bool:
        """Whether an answer of another model is rejected."""
        return self.backend == "api"


def resolve_model(backend: str, model: str) -> str:
    """Return the model that is meant: a default depends on the backend and the environment."""
    model = model.strip()
    if backend == "stub":
        return model or _STUB_MODEL
    if model not in ("", DEFAULT_MODEL):
        return model
    if backend == "api":
        return _DEFAULT_HOSTED_MODEL
    return _first_env(_MODEL_ENVS) or DEFAULT_MODEL


def resolve_judge(
    *,
    backend: str = "self-hosted",
    model: str = DEFAULT_MODEL,
    endpoint_url: str = "",
    api_key_env: str = DEFAULT_API_KEY_ENV,
    timeout_s: float = 120.0,
    api_key: str | None = None,
) -> JudgeSettings:
    """Settle backend, model, address and key; nothing is sent.

    Args:
        backend: "self-hosted", "api" or "stub".
        model: its name; the default stands for the backend's own default.
        endpoint_url: a base URL, or one of chat completions; default: the environment's.
        api_key_env: the environment variable that holds the key.
        timeout_s: of one request.
        api_key: the key itself; None to look it up.

    Raises:
        ConfigurationError: an unknown backend, an unusable address, or no key where one is needed.

    >>> resolve_judge(endpoint_url="http://127.0.0.1:9/").url
    'http://127.0.0.1:9/v1/chat/completions'
    """
    name = backend.strip().lower()
    if name not in BACKENDS:
        raise ConfigurationError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if not timeout_s > 0:
        raise ConfigurationError(f"timeout_s must be above 0, got {timeout_s}")
    check_key_name(api_key_env)
    effective = resolve_model(name, model)
    return JudgeSettings(
        backend=name,
        model=effective,
        url="" if name == "stub" else _completions_url(name, endpoint_url),
        profile=RequestProfile(_PROFILES.get(effective, _COMMON) if name == "api" else _COMMON),
        timeout_s=float(timeout_s),
        ready_timeout_s=_ready_timeout_s(),
        api_key="" if name == "stub" else _checked(_api_key(name, api_key_env, api_key), name),
    )


def check_key_name(api_key_env: str) -> None:
    """Refuse what is no environment variable's name; it is not shown, as it may be the key itself.

    Raises:
        ConfigurationError: it is none.
    """
    if not _IDENTIFIER.fullmatch(api_key_env):
        raise ConfigurationError("api_key_env must be the name of an environment variable")


def _completions_url(backend: str, endpoint_url: str) -> str:
    given = endpoint_url.strip() or _first_env(ENDPOINT_ENVS[backend])
    url = (given or _DEFAULT_ENDPOINT[backend]).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"endpoint_url must be an http or https URL, got {url!r}")
    if parts.username or parts.password:
        raise ConfigurationError("endpoint_url must not hold credentials; see api_key_env")
    if url.endswith("/chat/completions"):
        return url
    return f"{url}/chat/completions" if url.endswith("/v1") else f"{url}/v1/chat/completions"


def _checked(key: str, backend: str) -> str:
    if backend == "api" and not (key.isprintable() and key.isascii()):
        raise ConfigurationError("the API key holds characters that an HTTP header can't")
    return key


def _api_key(backend: str, api_key_env: str, given: str | None) -> str:
    if given is not None:
        return given
    named = os.environ.get(api_key_env, "").strip()
    if backend == "self-hosted":
        return named
    key = named or _first_env(_KEY_ENVS) or stored_key()
    if not key:
        raise ConfigurationError(
            f"backend 'api' needs a key: set {api_key_env}, {' or '.join(_KEY_ENVS)}, "
            f"or tokens.NEBIUS_TOKEN_FACTORY_KEY in {_CREDENTIALS}"
        )
    return key


def stored_key() -> str:
    """Return the key in the credentials file, empty where there is none.

    It is `NEBIUS_TOKEN_FACTORY_KEY` of the file's `tokens`.

    Raises:
        ConfigurationError: a file that can't be read.
    """
    import yaml  # noqa: PLC0415 - one backend's last resort

    path = _CREDENTIALS.expanduser()
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError):
        raise ConfigurationError(f"{path} can't be read") from None
    except yaml.YAMLError:  # its text would show the line, and with it the key
        raise ConfigurationError(f"{path} is not YAML") from None
    tokens = found.get("tokens", {}) if isinstance(found, dict) else None
    key = tokens.get("NEBIUS_TOKEN_FACTORY_KEY", "") if isinstance(tokens, dict) else None
    if not isinstance(key, str):
        raise ConfigurationError(f"{path} must map tokens to an object of texts")
    return key.strip()


def _ready_timeout_s() -> float:
    for name in _READY_ENVS:
        try:
            value = float(os.environ.get(name, ""))
        except ValueError:
            continue
        if 0 < value < float("inf"):
            return value
    return _DEFAULT_READY_TIMEOUT_S


def _first_env(names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")
