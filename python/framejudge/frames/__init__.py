"""Camera frames: bytes to pixels, and back.

Pictures are typed by their bytes. By default lost data are an error that says what is damaged and
where; see `decode`. Everything here runs without the GIL.
"""

from __future__ import annotations

from framejudge._core import encode_jpeg, encode_png, resize, to_tensor
from framejudge.frames.decoding import decode, decode_batch, probe
from framejudge.frames.records import DecodeInfo, ImageInfo, JpegFrame, Limits
from framejudge.frames.streams import split_jpeg_stream
from framejudge.frames.tensor import decode_to_tensor

__all__ = [
    "DecodeInfo",
    "ImageInfo",
    "JpegFrame",
    "Limits",
    "decode",
    "decode_batch",
    "decode_to_tensor",
    "encode_jpeg",
    "encode_png",
    "probe",
    "resize",
    "split_jpeg_stream",
    "to_tensor",
]
