"""Motion JPEG, from cameras and multipart HTTP responses."""

from __future__ import annotations

from framejudge import _core
from framejudge.frames._inputs import Encoded, encoded_bytes
from framejudge.frames.records import JpegFrame, Limits

__all__ = ["split_jpeg_stream"]


def split_jpeg_stream(data: Encoded, *, limits: Limits = Limits()) -> list[JpegFrame]:  # noqa: B008  # frozen
    """The pictures of a Motion-JPEG or multipart stream, in order.

    Protocol headers, padding and garbage between pictures are skipped; a thumbnail inside a picture
    is part of it. Nothing is copied or decoded.

    Args:
        data: The stream as bytes, bytearray, memoryview or one-dimensional uint8 array, or a path.
        limits: `max_bytes` is that of the stream.

    Returns:
        One `JpegFrame` for each picture; those that are cut off say so.

    Raises:
        InputError: `data` is nothing that can hold a stream.
        ImageLimitError: It has more than `limits.max_bytes`.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> jpeg = frames.encode_jpeg(np.zeros((8, 8, 3), dtype=np.uint8))
    >>> [frame.complete for frame in frames.split_jpeg_stream(jpeg + b"--next" + jpeg[:-2])]
    [True, False]
    """
    content = encoded_bytes(data, max_bytes=limits.max_bytes)
    view = memoryview(content).cast("B")
    return [
        JpegFrame(view[begin : begin + size], begin, complete)
        for begin, size, complete in _core.find_jpeg_frames(content)
    ]
