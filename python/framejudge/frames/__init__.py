"""Camera frames: bytes to pixels, and back.

Pictures are typed by their bytes. By default lost data are an error that says what is damaged and
where; see `decode`. Everything here runs without the GIL.
"""

from __future__ import annotations

from framejudge._core import encode_jpeg, encode_png, resize, to_tensor
from framejudge.frames.decoding import decode, decode_batch, probe
from framejudge.frames.episode import Episode, EpisodeFrame, open_episode
from framejudge.frames.hash import (
    PictureHash,
    dhash,
    find_duplicates,
    hamming,
    pdq,
    phash,
    sha256,
    xxh3_128,
)
from framejudge.frames.records import DecodeInfo, ImageInfo, JpegFrame, Limits
from framejudge.frames.streams import split_jpeg_stream
from framejudge.frames.tensor import decode_to_tensor
from framejudge.frames.video import Video
from framejudge.frames.video_frame import VideoFrame

__all__ = [
    "DecodeInfo",
    "Episode",
    "EpisodeFrame",
    "ImageInfo",
    "JpegFrame",
    "Limits",
    "PictureHash",
    "Video",
    "VideoFrame",
    "decode",
    "decode_batch",
    "decode_to_tensor",
    "dhash",
    "encode_jpeg",
    "encode_png",
    "find_duplicates",
    "hamming",
    "open_episode",
    "pdq",
    "phash",
    "probe",
    "resize",
    "sha256",
    "split_jpeg_stream",
    "to_tensor",
    "xxh3_128",
]
