"""A structural check: what coloured boxes in chosen frames prove, or refute, without any model.

Two colours are found in each frame: a red object and a gray actor. Whether the object rises can be
read off its box. That the actor moved it can only be refuted: being near is no grasp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from framejudge.errors import InputError

__all__ = ["FrameFacts", "StructuralCheck"]

Box = tuple[int, int, int, int]
Outcome = Literal["pass", "fail", "inconclusive"]
KIND = "stylized_color_bbox_agency_v1"
_CLAIMS = ("object_elevates", "actor_causes_motion")
_LEVELS = (
    "object_r_min_inclusive",
    "object_g_max_inclusive",
    "object_b_max_inclusive",
    "actor_channel_min_inclusive",
    "actor_rg_delta_max_inclusive",
    "actor_gb_delta_max_inclusive",
)
_REQUIRED = (
    "kind",
    "claim",
    "required_frame_selection",
    "required_max_frames",
    "required_labels",
    "required_normalized_png_sha256",
    "title_rows_excluded",
    *_LEVELS,
    "contact_px_inclusive",
    "movement_px_inclusive",
)
_OPTIONAL = "required_decoded_rgb_sha256"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HIGHEST_LEVEL = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFacts:
    """A normalised frame and its hashes."""

    label: str
    rgb: NDArray[np.uint8]
    """(H, W, 3)."""
    png_sha256: str
    rgb_sha256: str


@dataclass(frozen=True, slots=True)
class StructuralCheck:
    """A checked configuration."""

    config: dict[str, Any]
    expected: bool

    @classmethod
    def parse(cls, found: Any, *, expected: bool) -> StructuralCheck | None:
        """Read an item's check; None for none.

        Args:
            found: what the manifest holds.
            expected: the item's label.

        Raises:
            InputError: an unknown or missing field, or a value that can't be, by name.
        """
        if found is None:
            return None
        if not isinstance(found, dict):
            raise InputError(f"must be an object, got {found!r}")
        unknown = sorted(set(found) - {*_REQUIRED, _OPTIONAL})
        missing = [name for name in _REQUIRED if name not in found]
        if unknown or missing:
            raise InputError(f"unknown fields: {unknown}, missing fields: {missing}")
        _one_of(found, "kind", (KIND,))
        _one_of(found, "claim", _CLAIMS)
        _one_of(found, "required_frame_selection", ("sequence",))
        count = _whole(found, "required_max_frames", least=1)
        _texts(found, "required_labels", count, unique=True)
        for name in ("required_normalized_png_sha256", _OPTIONAL):
            if name in found:
                _texts(found, name, count, digests=True)
        _whole(found, "title_rows_excluded", least=0)
        for name in _LEVELS:
            _whole(found, name, least=0, most=_HIGHEST_LEVEL)
        _whole(found, "contact_px_inclusive", least=0)
        _whole(found, "movement_px_inclusive", least=1)
        if found["claim"] == "actor_causes_motion" and expected:
            raise InputError(
                "actor_causes_motion can only be refuted: its item must be expected to fail"
            )
        return cls(dict(found), expected)

    def requirement_problem(self, frame_selection: str, max_frames: int) -> str | None:
        """Say why frames chosen like this are not those that the check is about."""
        wanted = self.config["required_frame_selection"], self.config["required_max_frames"]
        if (frame_selection, max_frames) == wanted:
            return None
        return (
            f"its structural check needs --frame-selection {wanted[0]} --max-frames {wanted[1]}, "
            f"got {frame_selection} and {max_frames}"
        )

    def result(self, frames: Sequence[FrameFacts]) -> dict[str, Any]:
        """Measure the frames and say what follows.

        Raises:
            InputError: other frames than those required.
        """
        self._require_frames(frames)
        objects = [_box(self._object_mask(frame.rgb)) for frame in frames]
        actors = [_box(self._actor_mask(frame.rgb)) for frame in frames]
        bottoms = [box[3] if box else None for box in objects]
        gaps = [
            thing[0] - actor[2] if thing and actor else None
            for thing, actor in zip(objects, actors, strict=True)
        ]
        known = [bottom for bottom in bottoms if bottom is not None]
        near = [gap for gap in gaps if gap is not None]
        motion = max(known) - min(known) if known else None
        first, last = bottoms[0], bottoms[-1]
        rise = first - last if first is not None and last is not None else None
        whole = len(near) == len(frames)
        if self.config["claim"] == "object_elevates":
            verdict, reason = self._elevation(rise)
        else:
            verdict, reason = self._agency(motion, min(near, default=None), is_whole=whole)
        count = len(frames)
        return {
            "kind": KIND,
            "claim": self.config["claim"],
            "verdict": verdict,
            "reason": reason,
            "selected_frame_count": count,
            "object_mask_count": len(known),
            "actor_mask_count": sum(box is not None for box in actors),
            "object_completeness": len(known) / count,
            "actor_completeness": sum(box is not None for box in actors) / count,
            "dual_mask_coverage": len(near) / count,
            "object_endpoint_completeness": first is not None and last is not None,
            "object_pixel_counts": [int(self._object_mask(f.rgb).sum()) for f in frames],
            "actor_pixel_counts": [int(self._actor_mask(f.rgb).sum()) for f in frames],
            "object_boxes": objects,
            "actor_boxes": actors,
            "horizontal_gaps": gaps,
            "object_bottoms": bottoms,
            "minimum_gap_px": min(near, default=None),
            "object_motion_range_px": motion,
            "signed_first_to_last_vertical_rise_px": rise,
            "selected_labels": [frame.label for frame in frames],
            "normalized_png_sha256": [frame.png_sha256 for frame in frames],
            "decoded_rgb_sha256": [frame.rgb_sha256 for frame in frames],
            "config": self.config,
        }

    def _elevation(self, rise: int | None) -> tuple[Outcome, str]:
        least = self.config["movement_px_inclusive"]
        if rise is None:
            return "inconclusive", "the object is missing from the first or the last frame"
        if rise >= least:
            return "pass", f"the object ends {rise} px higher, {least} are asked for"
        return "fail", f"the object ends {rise} px higher, less than {least}"

    def _agency(
        self, motion: int | None, nearest: int | None, *, is_whole: bool
    ) -> tuple[Outcome, str]:
        least = self.config["movement_px_inclusive"]
        if not is_whole or motion is None or nearest is None:
            return "inconclusive", "the object or the actor is missing from a frame"
        if motion < least:
            return "fail", f"the object moves {motion} px, less than {least}"
        if nearest <= self.config["contact_px_inclusive"]:
            return "inconclusive", f"a gap of {nearest} px may be contact, and is no proof of it"
        return "fail", f"the object moves {motion} px while the actor stays {nearest} px away"

    def _require_frames(self, frames: Sequence[FrameFacts]) -> None:
        labels = [frame.label for frame in frames]
        if labels != self.config["required_labels"]:
            raise InputError(f"expected the frames {self.config['required_labels']}, got {labels}")
        # The bytes of a PNG depend on its encoder, the pixels don't: these decide where given.
        if _OPTIONAL in self.config:
            name, found = _OPTIONAL, [frame.rgb_sha256 for frame in frames]
        else:
            name, found = "required_normalized_png_sha256", [frame.png_sha256 for frame in frames]
        wrong = [
            f"{label} ({got})"
            for label, got, wanted in zip(labels, found, self.config[name], strict=True)
            if got != wanted
        ]
        if wrong:
            raise InputError(f"{name} does not hold for {', '.join(wrong)}")

    def _below_title(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        mask[: self.config["title_rows_excluded"]] = False
        return mask

    def _object_mask(self, rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
        red, green, blue = (rgb[..., channel] for channel in range(3))
        return self._below_title(
            (red >= self.config["object_r_min_inclusive"])
            & (green <= self.config["object_g_max_inclusive"])
            & (blue <= self.config["object_b_max_inclusive"])
        )

    def _actor_mask(self, rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
        red, green, blue = (rgb[..., channel].astype(np.int16) for channel in range(3))
        return self._below_title(
            (rgb >= self.config["actor_channel_min_inclusive"]).all(axis=-1)
            & (np.abs(red - green) <= self.config["actor_rg_delta_max_inclusive"])
            & (np.abs(green - blue) <= self.config["actor_gb_delta_max_inclusive"])
        )


def _box(mask: NDArray[np.bool_]) -> Box | None:
    """Left, top, right and bottom of all that is set, both edges within; None for nothing."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])


def _one_of(found: dict[str, Any], name: str, accepted: tuple[str, ...]) -> None:
    if found[name] not in accepted:
        raise InputError(f"{name} must be one of {', '.join(accepted)}, got {found[name]!r}")


def _whole(found: dict[str, Any], name: str, *, least: int, most: int | None = None) -> int:
    value = found[name]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        span = f"from {least} to {most}" if most is not None else f"from {least} on"
        raise InputError(f"{name} must be a whole number {span}, got {value!r}")
    return int(value)


def _texts(
    found: dict[str, Any], name: str, count: int, *, unique: bool = False, digests: bool = False
) -> None:
    values = found[name]
    fine = (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, str) and value for value in values)
    )
    if not fine or (unique and len(set(values)) != count):
        raise InputError(f"{name} must be {count} {'different ' if unique else ''}texts")
    if digests and not all(_DIGEST.fullmatch(value) for value in values):
        raise InputError(f"{name} must be SHA-256 hashes in lowercase hex")
