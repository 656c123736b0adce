"""What a sentence-transformers folder holds: the family, the sizes and the pooling of its model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from framejudge.errors import ModelError, ModelNotFoundError

__all__ = ["REQUIRED_FILES", "Architecture", "read_architecture"]

Family = Literal["bert", "mpnet"]
Pooling = Literal["cls", "max", "mean"]

REQUIRED_FILES = ("config.json", "model.safetensors", "tokenizer.json")
"""What every model folder must hold; the other files have defaults."""

_POOLING_KEYS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """Everything about a model that its graph and its tokeniser depend on, but the weights."""

    family: Family
    """`mpnet` (relative attention bias) or `bert` (absolute positions and a token type)."""
    layers: int
    heads: int
    hidden: int
    """Width of a token's vector, and of the embedding."""
    intermediate: int
    """Width inside the feed-forward block."""
    positions: int
    """Rows of the position table, MPNet's two reserved ones included."""
    pad_id: int
    """Token that fills a short row of a batch."""
    epsilon: float
    """Added to the variance in every layer normalisation."""
    buckets: int
    """Relative-position buckets of MPNet; 0 for BERT."""
    pooling: Pooling
    """How token vectors become one."""
    normalized: bool
    """The model's own last module is an L2 normalisation."""
    max_tokens: int
    """Longest text in tokens, the two special ones included; longer ones are cut."""
    lowercase: bool
    """The model's own configuration lower-cases texts before the tokeniser sees them."""
    prompts: dict[str, str]
    """Texts that the model's configuration has put before others, by name."""
    default_prompt: str
    """Name of the prompt that every text gets unless another is asked for; empty: none."""
    pools_prompt: bool
    """The prompt's tokens take part in pooling, as every other's; a few models leave them out."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return asdict(self)


def read_architecture(folder: Path) -> Architecture:
    """Read the configuration files of a local sentence-transformers folder.

    Args:
        folder: Folder with `config.json`, `model.safetensors` and `tokenizer.json`;
            `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json` and
            `config_sentence_transformers.json` are read when they are there (default: mean
            pooling, the position table's length, no prompts).

    Returns:
        The model's description.

    Raises:
        ModelNotFoundError: A required file is missing.
        ModelError: A file can't be read, or the model is of a kind that is not supported.
    """
    missing = [name for name in REQUIRED_FILES if not (folder / name).is_file()]
    if missing:
        raise ModelNotFoundError(
            f"{folder} is not a usable model folder: {', '.join(missing)} missing "
            f"(needed: {', '.join(REQUIRED_FILES)}; weights in other formats and vocab.txt alone "
            "are not read)"
        )
    config = _read_object(folder / "config.json")
    family = _family(config, folder)
    pooling_dir, normalized = _modules(folder)
    sizes = {
        key: _integer(config, key, folder)
        for key in (
            "num_hidden_layers",
            "num_attention_heads",
            "hidden_size",
            "intermediate_size",
            "max_position_embeddings",
        )
    }
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        raise ModelError(
            f"{folder}/config.json: hidden_size {sizes['hidden_size']} is not a multiple of "
            f"num_attention_heads {sizes['num_attention_heads']}"
        )
    pad_id = int(config.get("pad_token_id", 1 if family == "mpnet" else 0))
    positions = sizes["max_position_embeddings"]
    limit = positions - pad_id - 1 if family == "mpnet" else positions
    text = _optional_object(folder / "sentence_bert_config.json")
    return Architecture(
        family=family,
        layers=sizes["num_hidden_layers"],
        heads=sizes["num_attention_heads"],
        hidden=sizes["hidden_size"],
        intermediate=sizes["intermediate_size"],
        positions=positions,
        pad_id=pad_id,
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        buckets=int(config.get("relative_attention_num_buckets", 32)) if family == "mpnet" else 0,
        pooling=_pooling(pooling_dir),
        normalized=normalized,
        max_tokens=min(int(text.get("max_seq_length") or limit), limit),
        lowercase=bool(text.get("do_lower_case", False)),
        pools_prompt=_optional_object(pooling_dir / "config.json").get("include_prompt")
        is not False,
        **_prompts(folder / "config_sentence_transformers.json"),
    )


def _prompts(path: Path) -> dict[str, Any]:
    """Return the prompts and the default one's name, as `Architecture` takes them."""
    config = _optional_object(path)
    prompts = config.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(p, str) for p in prompts.values()):
        raise ModelError(f"{path}: prompts must be an object of texts, got {prompts!r}")
    default = config.get("default_prompt_name") or ""
    if default and default not in prompts:
        raise ModelError(
            f"{path}: default_prompt_name {default!r} is none of {', '.join(prompts) or 'none'}"
        )
    return {"prompts": prompts, "default_prompt": default}


def _family(config: dict[str, Any], folder: Path) -> Family:
    """Name the model's family, or say why it can't be exported."""
    given = config.get("model_type")
    if given not in ("bert", "mpnet"):
        raise ModelError(
            f"{folder}/config.json: model_type {given!r} is not supported; accepted: 'bert', "
            "'mpnet'. Any object with encode(list of str) can be used as an embedder instead."
        )
    activation = config.get("hidden_act", "gelu")
    if activation != "gelu":
        raise ModelError(
            f"{folder}/config.json: hidden_act {activation!r} is not supported; accepted: 'gelu'"
        )
    kind = config.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise ModelError(
            f"{folder}/config.json: position_embedding_type {kind!r} is not supported; "
            "accepted: 'absolute'"
        )
    family: Family = given
    return family


def _modules(folder: Path) -> tuple[Path, bool]:
    """Return the pooling module's folder, and whether the last module normalises."""
    path = folder / "modules.json"
    if not path.is_file():
        return folder / "1_Pooling", False
    modules = _read_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"{path} must be a JSON list of objects")
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ModelError(
            f"{path}: modules {', '.join(kinds) or 'none'} are not supported; accepted: "
            "Transformer, Pooling and, optionally, Normalize"
        )
    return folder / str(modules[1].get("path", "1_Pooling")), kinds[-1] == "Normalize"


def _pooling(folder: Path) -> Pooling:
    """Name the one pooling mode that is switched on; mean when nothing is said."""
    config = _optional_object(folder / "config.json")
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if "pooling_mode" in config:
        modes = [f"pooling_mode_{config['pooling_mode']}_token"]
        if modes[0] not in _POOLING_KEYS:
            modes = [modes[0] + "s"]
    if not modes:
        return "mean"
    if len(modes) > 1 or modes[0] not in _POOLING_KEYS:
        raise ModelError(
            f"{folder}/config.json: {', '.join(sorted(modes))} is not supported; accepted: one of "
            f"{', '.join(_POOLING_KEYS)}"
        )
    return _POOLING_KEYS[modes[0]]


def _integer(config: dict[str, Any], key: str, folder: Path) -> int:
    """Return a positive integer of the configuration."""
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(f"{folder}/config.json: {key} must be a positive integer, got {value!r}")
    return value


def _read_json(path: Path) -> Any:
    """Parse a JSON file; a broken one is the model's fault and is named."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelError(f"{path} can't be read as JSON: {error}") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Parse a JSON file that must hold an object."""
    value = _read_json(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path} must be a JSON object, got {type(value).__name__}")
    return value


def _optional_object(path: Path) -> dict[str, Any]:
    """Parse a JSON object, or return an empty one when there is no file."""
    return _read_object(path) if path.is_file() else {}
