"""One frame of a video: planes as the decoder left them, pixels when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from framejudge import _core
from framejudge.errors import ImageError, InputError
from framejudge.frames.decoding import Filter, Mode, decode, probe
from framejudge.frames.records import DecodeInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["FrameView", "JpegPicture", "MjpegFrame", "Mode", "VideoFrame"]

Matrix = Literal["bt601", "bt709", "bt2020"]

_FORMATS = frozenset(_core.yuv_formats())
# ITU-T H.273's numbers of the matrices; those that are left are unspecified or not YCbCr.
_MATRICES: dict[int, Matrix] = {
    1: "bt709", 4: "bt601", 5: "bt601", 6: "bt601", 7: "bt709", 9: "bt2020", 10: "bt2020",
}  # fmt: skip
_HD_HEIGHT = 720
_RANGE_LIMITED, _RANGE_FULL = 1, 2


@dataclass(frozen=True)
class FrameView:
    """How `VideoFrame.pixels` looks: what was given to `Video.frames`."""

    mode: Mode = "rgb"
    size: tuple[int, int] | None = None
    max_side_px: int | None = None
    filter: Filter = "area"

    def __post_init__(self) -> None:
        """Refuse what can't work before anything is decoded."""
        if self.mode not in ("rgb", "gray", "rgba"):
            raise InputError(f"mode must be rgb, gray or rgba, got {self.mode!r}")
        if self.filter not in ("area", "bilinear", "bicubic", "lanczos"):
            accepted = "area, bilinear, bicubic or lanczos"
            raise InputError(f"filter must be {accepted}, got {self.filter!r}")
        if self.size is not None and self.max_side_px is not None:
            raise InputError("give size=(height, width) or max_side_px=, not both")
        if self.size is not None and (len(self.size) != 2 or min(self.size) < 1):  # noqa: PLR2004
            raise InputError(f"size must be (height, width), both at least 1, got {self.size!r}")
        if self.max_side_px is not None and self.max_side_px < 1:
            raise InputError(f"max_side_px must be at least 1, got {self.max_side_px!r}")

    def size_of(self, height: int, width: int) -> tuple[int, int] | None:
        """The size of a picture seen so; None keeps it."""
        if self.size is not None:
            return self.size
        longer = max(height, width)
        if self.max_side_px is None or longer <= self.max_side_px:
            return None
        scale = self.max_side_px / longer
        return max(1, int(height * scale + 0.5)), max(1, int(width * scale + 0.5))


@dataclass(frozen=True)
class VideoFrame:
    """A decoded frame.

    It holds the decoder's memory until it is dropped; `pixels` and `to_array` give arrays of their
    own. Keep those, not many frames.

    Attributes:
        index: Its number, in the order of showing; see NOTE [frame numbers].
        pts_s: When it is shown, in seconds as the container says, never a number over a rate; None
            where there are no timestamps.
        is_key: Whether decoding can start here.
        is_corrupt: Whether the decoder found damage in it, or in a frame that it leans on.
        rotation: Degrees counter-clockwise that `pixels` were turned to be upright.
    """

    index: int
    pts_s: float | None
    is_key: bool
    is_corrupt: bool
    rotation: int
    _source: Any = field(repr=False)
    _view: FrameView = field(repr=False, default=FrameView())

    @property
    def format(self) -> str:
        """FFmpeg's name of the planes' layout."""
        return str(self._source.format.name)

    @property
    def size(self) -> tuple[int, int]:
        """(height, width), upright."""
        height, width = int(self._source.height), int(self._source.width)
        return (width, height) if self.rotation in (90, 270) else (height, width)

    @property
    def matrix(self) -> Matrix:
        """Of luma and chroma; unspecified is BT.709 from 720 rows, else BT.601."""
        named = _MATRICES.get(int(self._source.colorspace))
        return named or ("bt709" if self._source.height >= _HD_HEIGHT else "bt601")

    @property
    def is_full_range(self) -> bool:
        """Whether black is 0; unspecified is what the format's name implies, else limited."""
        declared = int(self._source.color_range)
        if declared in (_RANGE_LIMITED, _RANGE_FULL):
            return declared == _RANGE_FULL
        return self.format.startswith("yuvj")

    @property
    def planes(self) -> tuple[NDArray[Any], ...]:
        """The planes as they are stored, not turned; read-only views of the decoder's memory.

        (H, W) uint8 or uint16 each; the two kinds of chroma of nv12 and the like are one plane of
        alternating samples.
        """
        return tuple(_plane_view(self._source, i) for i in range(len(self._source.planes)))

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """(H, W, C) uint8, upright, in the mode and size given to `Video.frames`."""
        return self._converted(self._view)

    def to_array(
        self,
        *,
        mode: Mode = "rgb",
        size: tuple[int, int] | None = None,
        max_side_px: int | None = None,
        filter: Filter = "area",  # noqa: A002 - the name that resize has
    ) -> NDArray[np.uint8]:
        """The pixels, upright.

        Args:
            mode: ``"rgb"`` (default), ``"gray"`` (the stream's own luma) or ``"rgba"``.
            size: (height, width) in pixels, upright; or
            max_side_px: the longer side's greatest length. Neither (default) keeps the size.
            filter: ``"area"`` (default), ``"bilinear"``, ``"bicubic"`` or ``"lanczos"``.

        Returns:
            (H, W, C) uint8.

        Raises:
            InputError: For another mode or filter, a side below 1, or both sizes.
        """
        return self._converted(FrameView(mode, size, max_side_px, filter))

    def _converted(self, view: FrameView) -> NDArray[np.uint8]:
        source = self._source
        if source.format.name not in _FORMATS or any(p.line_size < 0 for p in source.planes):
            # Rare layouts take FFmpeg's own conversion to one that is read here.
            if source.format.is_rgb or source.format.has_palette:
                return self._from_rgb(source.reformat(format="rgb24"), view)
            source = source.reformat(format="yuv444p")
        height, width = self.size
        pixels: NDArray[np.uint8] = _core.yuv_to_array(
            source.planes,
            [plane.line_size for plane in source.planes],
            frame_size=(source.height, source.width),
            format=source.format.name,
            matrix=self.matrix,
            full_range=self.is_full_range,
            rotation=self.rotation,
            mode=view.mode,
            size=view.size_of(height, width),
            filter=view.filter,
        )
        return pixels

    def to_tensor(
        self,
        *,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        size: tuple[int, int] | None = None,
        dtype: Literal["float32", "float16"] = "float32",
        layout: Literal["NCHW", "NHWC"] = "NCHW",
        filter: Filter = "area",  # noqa: A002 - the name that resize has
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """The pixels as normalised numbers, ``(pixel / 255 - mean) / std``.

        Args:
            mean: In units of pixel / 255; one number, or one per channel.
            std: The same, positive.
            size: (height, width) in pixels, upright; None (default) keeps it.
            dtype: ``"float32"`` (default) or ``"float16"``.
            layout: ``"NCHW"`` (default) or ``"NHWC"``.
            filter: As `to_array` takes it.
            out: Where to write, such as ``batch[i : i + 1]``; None (default) makes an array.

        Returns:
            (1, 3, H, W) or (1, H, W, 3).

        Raises:
            InputError: For options that can't work.
        """
        pixels = self._converted(FrameView("rgb", size, None, filter))
        tensor: NDArray[Any] = _core.to_tensor(
            pixels, mean=mean, std=std, dtype=dtype, layout=layout, out=out
        )
        return tensor

    def luma(self) -> NDArray[np.uint8]:
        """(H, W) uint8, upright: what a perceptual hash is taken of.

        As coded where that is eight bits and upright: the decoder's own memory, read-only, whose
        black may be 16. Order and proportion are what hashes look at, and range changes neither.
        """
        if self.rotation == 0 and self.format in _FORMATS and self.planes[0].dtype == np.uint8:
            return self.planes[0]
        return self._converted(FrameView("gray"))[..., 0]

    def _from_rgb(self, source: Any, view: FrameView) -> NDArray[np.uint8]:
        pixels = np.rot90(source.to_ndarray(), self.rotation // 90)
        pixels = np.ascontiguousarray(pixels)
        size = view.size_of(*self.size)
        if size is not None:
            pixels = _core.resize(pixels, size=size, filter=view.filter)
        return _in_mode(pixels, view.mode)


def _plane_view(frame: Any, number: int) -> NDArray[Any]:
    plane = frame.planes[number]
    wide = any(component.bits > 8 for component in frame.format.components)  # noqa: PLR2004
    rows = np.frombuffer(plane, dtype="<u2" if wide else np.uint8).reshape(plane.height, -1)
    in_pairs = len(frame.planes) == 2 and number == 1  # noqa: PLR2004
    view = rows[:, : plane.width * (2 if in_pairs else 1)]
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class JpegPicture:
    """An undecoded frame of Motion JPEG, with what a decoder's frame has."""

    pts: int | None
    dts: int | None
    data: bytes = field(repr=False)
    key_frame: bool = True
    is_corrupt: bool = False


@dataclass(frozen=True)
class MjpegFrame(VideoFrame):
    """A frame of Motion JPEG, decoded by framejudge itself.

    Attributes:
        damage: What is missing of it and where; those rows are white.
    """

    damage: tuple[str, ...] = ()
    _pixels: NDArray[np.uint8] | None = field(repr=False, default=None)

    @classmethod
    def decoded(
        cls, source: JpegPicture, index: int, pts_s: float | None, view: FrameView
    ) -> MjpegFrame:
        """The frame, whose damage only decoding can tell."""
        try:
            pixels, info = _decoded_jpeg(source, view)
        except ImageError as error:  # nothing to show
            return cls(index, pts_s, True, True, 0, source, view, (str(error),))
        return cls(index, pts_s, True, info.damaged, 0, source, view, info.damage, pixels)

    @property
    def format(self) -> str:
        """``"jpeg"``."""
        return "jpeg"

    @property
    def size(self) -> tuple[int, int]:
        """(height, width)."""
        info = probe(self._source.data)
        return info.height, info.width

    @property
    def matrix(self) -> Matrix:
        """JPEG's is BT.601."""
        return "bt601"

    @property
    def is_full_range(self) -> bool:
        """JPEG's is full."""
        return True

    @property
    def planes(self) -> tuple[NDArray[Any], ...]:
        """None: the decoder makes pixels."""
        return ()

    def _converted(self, view: FrameView) -> NDArray[np.uint8]:
        if view == self._view and self._pixels is not None:
            return self._pixels
        return _decoded_jpeg(self._source, view)[0]


def _decoded_jpeg(source: JpegPicture, view: FrameView) -> tuple[NDArray[np.uint8], DecodeInfo]:
    return decode(
        source.data,
        mode=view.mode,
        size=view.size,
        max_side_px=view.max_side_px,
        filter=view.filter,
        orient=False,
        partial=True,
        return_info=True,
    )


def _in_mode(rgb: NDArray[np.uint8], mode: Mode) -> NDArray[np.uint8]:
    if mode == "gray":
        luma: NDArray[np.float64] = rgb @ np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
        return np.rint(luma).astype(np.uint8)[..., None]
    if mode == "rgba":
        return np.concatenate([rgb, np.full_like(rgb[..., :1], 255)], axis=2)
    return rgb
