"""Which address and which key an audit may use: stricter than a judge's, and never by accident."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from framejudge.errors import AuditAccessError, ConfigurationError
from framejudge.judge.backends import (
    DEFAULT_API_KEY_ENV,
    ENDPOINT_ENVS,
    JudgeSettings,
    check_key_name,
    resolve_judge,
    stored_key,
)

__all__ = ["AUDIT_KEY_ENVS", "resolve_audit_judge"]

_STORE_ENV = "NEBIUS_TOKEN_FACTORY_KEY"
AUDIT_KEY_ENVS = (DEFAULT_API_KEY_ENV, _STORE_ENV)


def resolve_audit_judge(
    *, model: str, endpoint_url: str = "", api_key_env: str, timeout_s: float
) -> JudgeSettings:
    """Settle a hosted judge for an audit; nothing is sent.

    Without an address it is the default one, and only if no environment variable names another;
    its key comes from VLM_EVAL_API_KEY, NEBIUS_TOKEN_FACTORY_KEY or the credentials file. A given
    address gets the key of the variable that is named, and no other.

    Args:
        model: its name.
        endpoint_url: a base URL, or the one of /chat/completions; empty for the default.
        api_key_env: the environment variable that holds the key.
        timeout_s: of one request.

    Raises:
        AuditAccessError: an address or a key that may not be used, with the rule's code.
        ConfigurationError: an address that can't work.
    """
    check_key_name(api_key_env)
    endpoint_url = endpoint_url.strip()
    if endpoint_url:
        parts = urlsplit(endpoint_url)
        if parts.query or parts.fragment:
            raise ConfigurationError("endpoint_url must have neither a query nor a fragment")
        key = _named_key(api_key_env)
    else:
        key = _default_key(api_key_env)
    return resolve_judge(
        backend="api",
        model=model,
        endpoint_url=endpoint_url,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
        api_key=key,
    )


def _named_key(api_key_env: str) -> str:
    key = os.environ.get(api_key_env, "").strip()
    if not key:
        raise AuditAccessError(
            f"a given endpoint_url needs its key in {api_key_env}, which is empty",
            reason_code="preference_named_credential_required",
        )
    return key


def _default_key(api_key_env: str) -> str:
    ambient = [name for name in ENDPOINT_ENVS["api"] if os.environ.get(name, "").strip()]
    if ambient:
        raise AuditAccessError(
            f"{ambient[0]} names an address; give endpoint_url, so that it is meant",
            reason_code="preference_explicit_endpoint_required",
        )
    accepted = " or ".join(AUDIT_KEY_ENVS)
    if api_key_env not in AUDIT_KEY_ENVS:
        raise AuditAccessError(
            f"the default endpoint takes its key from {accepted}, got api_key_env={api_key_env}",
            reason_code="preference_named_credential_required",
        )
    try:
        key = next(
            (
                key
                for name in (api_key_env, _STORE_ENV)
                if (key := os.environ.get(name, "").strip())
            ),
            "",
        )
        key = key or stored_key()
    except ConfigurationError as error:
        raise AuditAccessError(
            str(error), reason_code="preference_credential_configuration_invalid"
        ) from None
    if not key:
        raise AuditAccessError(
            f"the default endpoint needs a key: set {accepted}",
            reason_code="preference_named_credential_required",
        )
    return key
