"""What answers cost, by a table of prices that the user gives; there is none built in."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from framejudge.errors import ConfigurationError

__all__ = ["Price", "PriceTable"]

_MILLION = 1_000_000


class Price(BaseModel):
    """Dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid")

    input_per_million: float = Field(ge=0, allow_inf_nan=False)
    output_per_million: float = Field(ge=0, allow_inf_nan=False)


class PriceTable:
    """Prices by model."""

    def __init__(self, prices: dict[str, Price]) -> None:
        """Take prices by the model's name."""
        self._prices = prices

    @classmethod
    def load(cls, path: str) -> PriceTable:
        """Read a .toml or .json file: a table for each model, with both prices in dollars.

        Raises:
            ConfigurationError: the file can't be read, or a model's prices aren't two numbers.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
            is_toml = Path(path).suffix.lower() == ".toml"
            found: Any = tomllib.loads(text) if is_toml else json.loads(text)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"prices: {path} can't be read: {error}") from None
        if not isinstance(found, dict):
            raise ConfigurationError(f"prices: {path} holds no table of models")
        prices = {}
        for model, entry in found.items():
            try:
                prices[model] = Price.model_validate(entry)
            except ValidationError as error:
                fields = ", ".join(str(part) for one in error.errors() for part in one["loc"])
                raise ConfigurationError(
                    f"prices: {path}: {model!r} needs input_per_million and output_per_million, "
                    f"in dollars; wrong: {fields or 'no table'}"
                ) from None
        return cls(prices)

    def require(self, model: str) -> None:
        """Refuse a cost limit that could never be reached.

        Raises:
            ConfigurationError: the model has no price.
        """
        if model not in self._prices:
            raise ConfigurationError(
                f"max_cost: {model!r} has no price; priced: {', '.join(self._prices) or 'none'}"
            )

    def cost_usd(self, model: str, usage: dict[str, Any] | None) -> float | None:
        """Return what an answer cost, None where its price or its tokens are not known."""
        price = self._prices.get(model)
        tokens = [(usage or {}).get(key) for key in ("prompt_tokens", "completion_tokens")]
        if price is None or not all(isinstance(n, int) and n >= 0 for n in tokens):
            return None
        read, written = (int(n or 0) for n in tokens)
        dollars = read * price.input_per_million + written * price.output_per_million
        return dollars / _MILLION
