"""What went wrong in other readers of pictures and videos, each as a test named after it.

The numbers are those of the log of public reports that this project was planned with; the tests of
rows that were written beside the code they test are listed in `ELSEWHERE`. Rows 9 and 10 in part
are about live cameras and belong to the monitor.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pdqhash
import pytest
from PIL import Image

from framejudge import _core, frames
from framejudge.errors import ImageError

TESTS = Path(__file__).parents[1]

ELSEWHERE = {
    1: ["unit/test_frames_decode.py::test_parts_of_an_earlier_picture_never_show"],
    2: [
        "unit/test_frames_decode.py::test_a_truncated_picture_is_an_error_that_says_where",
        "integration/test_frames_corpus.py::test_nothing_is_written_to_standard_error",
    ],
    3: ["unit/test_frames_decode.py::test_stray_bytes_before_a_marker_are_a_warning"],
    4: ["unit/test_frames_decode.py::test_memory_stays_flat_over_ten_thousand_calls"],
    5: ["unit/test_frames_decode.py::test_orientation_equals_pillows_transpose"],
    7: ["unit/test_frames_png.py::test_16_bit_gray_is_shifted_not_clipped"],
    8: ["unit/test_frames_decode.py::test_a_partial_progressive_picture_is_coarse_but_whole"],
    10: ["unit/test_frames_video.py::test_a_server_that_stays_silent_is_a_timeout"],
    11: ["unit/test_frames_video.py::test_memory_does_not_grow_over_openings"],
    13: [
        "unit/test_frames_video.py::test_the_time_of_a_frame_is_the_containers_not_a_number_over_a_rate",
        "unit/test_frames_video.py::test_seeking_is_exact_in_every_container",
    ],
    14: [
        "integration/test_frames_video_corpus.py::test_a_turned_video_shows_what_the_upright_one_shows"
    ],
    15: ["unit/test_frames_video.py::test_a_lost_packet_flags_what_leans_on_it"],
    16: ["unit/test_frames_video.py::test_matrix_and_range_are_those_of_the_stream"],
    20: ["unit/test_frames_decode.py::test_a_forked_child_decodes_a_batch"],
    21: ["unit/test_frames_decode.py::test_an_edge_that_is_off_the_grid_shows_no_line"],
    22: ["unit/test_frames_png.py::test_hidden_colours_do_not_bleed_into_a_resized_picture"],
}
HERE = {6, 12, 17, 18, 19, 23, 24, 25}
MONITOR = {9}

DHASH = "ffe7c7cbe7f7ffff"
PHASH = "a56d9a14675b9a64"
PDQ = "4d924a6c5263ad934dec5253b493adac426b5213adaced6c4a73b594b5ac4a5b"


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def scene(height, width):
    """Ramps and a disc: smooth, with one edge, and the same on every machine."""
    y, x = np.mgrid[0:height, 0:width]
    disc = (x - width * 0.6) ** 2 + (y - height * 0.4) ** 2 < (height * 0.25) ** 2
    planes = [255 * x / width, 255 * y / height, 255 * (x + y) / (width + height)]
    return np.where(disc[..., None], 40, np.stack(planes, axis=-1)).astype(np.uint8)


def test_every_row_of_the_log_has_its_test():
    assert set(ELSEWHERE) | HERE | MONITOR == set(range(1, 26))
    for name in (name for names in ELSEWHERE.values() for name in names):
        path, function = name.split("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    ours = {name for name in globals() if name.startswith("test_row_")}
    assert {int(name.split("_")[2]) for name in ours} == HERE


@pytest.mark.parametrize("ink", [(0, 0, 0, 0), (255, 0, 0, 0), (0, 0, 0, 255), (40, 90, 200, 30)])
def test_row_6_cmyk_jpegs_were_inverted_or_had_their_black_taken_for_alpha(ink):
    data = saved(Image.new("CMYK", (64, 48), ink), "JPEG", quality=100, subsampling=0)
    cyan, magenta, yellow, black = (255 - value for value in ink)
    expected = [round(value * black / 255) for value in (cyan, magenta, yellow)]
    got, info = frames.decode(data, return_info=True)
    assert info.channels == 4
    assert np.abs(got.astype(int) - expected).max() <= 2
    assert frames.decode(data, mode="rgba")[..., 3].min() == 255


def test_row_12_reading_a_damaged_video_never_returned_and_could_not_be_stopped(tmp_path):
    path = TESTS / "data" / "corpus" / "gen_video" / "trunc_faststart_60.mp4"
    code = (
        "import signal, sys; from framejudge.frames import Video\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background
        "print('ready', flush=True)\n"
        "while True:\n"
        "    with Video(sys.argv[1]) as video:\n"
        "        found = list(video.frames())\n"
        "        assert found and (found[-1].is_corrupt or video.damage), found\n"
        "        print(len(found), flush=True)\n"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert reader.stdout.readline() == b"ready\n"
    counts = {int(reader.stdout.readline()) for _ in range(5)}
    assert len(counts) == 1
    # As a person does: once more where it came while a library would not hear of it.
    for _ in range(40):
        reader.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert reader.wait(timeout=0.5) == -signal.SIGINT
            break
    else:
        reader.kill()
        pytest.fail("Ctrl-C did not end it in 20 seconds")
    reader.communicate()


def test_row_17_hashes_changed_when_the_library_below_them_was_upgraded():
    """The values are imagehash 4.3.2's on Pillow 13.0, and pdqhash 0.2.8's, of this picture."""
    picture = scene(256, 320)
    assert str(frames.dhash(picture)) == DHASH
    assert str(frames.phash(picture)) == PHASH
    assert frames.pdq(picture).digest.hex() == PDQ
    for found in (frames.dhash(picture), frames.phash(picture), frames.pdq(picture)):
        assert found.version >= 1


def test_row_18_pdq_differed_between_implementations_and_its_words_were_reversed():
    picture = scene(480, 640)
    bits, _ = pdqhash.compute(picture)
    ours = frames.pdq(picture)
    first_word = "".join(map(str, bits[:16]))  # the most significant comes first
    assert format(int(ours.digest.hex()[:4], 16), "016b") == first_word
    assert np.count_nonzero(np.unpackbits(np.frombuffer(ours.digest, np.uint8)) != bits) <= 10


@pytest.mark.parametrize("filter_name", ["area", "bilinear", "bicubic", "lanczos"])
def test_row_19_a_resize_without_antialiasing_lost_accuracy(filter_name):
    stripes = np.zeros((1080, 1920, 3), np.uint8)
    stripes[:, ::2] = 255  # every other column: nothing that 384 columns could show
    small = frames.resize(stripes, size=(384, 384), filter=filter_name)
    # Of the five columns that become one, two or three are white.
    assert np.abs(small.astype(int) - 127.5).max() <= 255 / 5 / 2 + 0.5
    file = frames.encode_png(stripes)
    tensor = frames.decode_to_tensor([file], size=(384, 384), mean=(0, 0, 0), std=(1, 1, 1))
    assert np.abs(tensor - 0.5).max() <= (255 / 5 / 2 + 0.5) / 255


def test_row_23_pixels_shifted_when_the_codec_was_upgraded():
    """The codec is named with every result, and its islow transform gives the same bits always."""
    data = (TESTS / "data" / "corpus" / "gen_orientation" / "quad_o1.jpg").read_bytes()
    pixels, info = frames.decode(data, return_info=True)
    assert info.codec == _core.build_info()["jpeg"]
    theirs = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert np.array_equal(pixels, theirs)


def test_row_24_flipped_bits_gave_shifted_blocks_that_nobody_noticed():
    data = bytearray(saved(Image.fromarray(scene(480, 640)), "JPEG", quality=90))
    scan = data.index(b"\xff\xda") + 14
    rng = np.random.default_rng(24)
    whole = frames.decode(bytes(data))
    noticed, unnoticed = 0, 0
    for at in rng.integers(scan, len(data) - 2, 60):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        try:
            pixels, info = frames.decode(bytes(damaged), return_info=True)
        except ImageError:
            noticed += 1
            continue
        noticed += bool(info.warnings)
        unnoticed += not info.warnings and not np.array_equal(pixels, whole)
    # What keeps to Huffman's codes and to the count of blocks can't be told from a picture; most
    # damage doesn't.
    assert noticed > unnoticed


def test_row_25_a_library_was_not_found_at_run_time():
    code = (
        "import framejudge.frames\n"
        "for line in open('/proc/self/maps'):\n"
        "    name = line.split()[-1]\n"
        "    if any(codec in name for codec in ('jpeg', 'webp', 'deflate')): print(name)\n"
    )
    elsewhere = {**os.environ, "LD_LIBRARY_PATH": "/nonexistent"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=elsewhere, capture_output=True, text=True, check=True
    )
    found = {Path(name) for name in run.stdout.split()}
    extension = Path(_core.__file__)
    # None in a wheel that has its codecs inside; by the name it carries them under otherwise.
    needed = re.findall(rb"lib(?:jpeg|webp|deflate)[-.\w]*\.so[.\d]*", extension.read_bytes())
    # A repaired wheel still holds the names from before, beside those that count.
    stems = {name.decode().partition(".so")[0] for name in needed}
    assert {path.name.partition(".so")[0] for path in found} <= stems
    carried = extension.parents[1] / "framejudge.libs"
    if carried.is_dir():  # a repaired wheel needs nothing of the system
        assert {path.parent for path in found} <= {carried}
