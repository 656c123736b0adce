"""Pictures as numbers, and straight from encoded bytes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from framejudge import frames
from framejudge.errors import DamagedImageError, InputError, UnsupportedImageError

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
LEVELS = {"mean": 0.0, "std": 1 / 255}  # numbers are levels


def picture(height, width, seed=0):
    """Smooth, as photos are: a few cells of random levels."""
    cells = np.random.default_rng(seed).integers(40, 216, (5, 7, 3), np.uint8)
    return frames.resize(cells, size=(height, width), filter="bicubic")


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_numbers_are_those_of_numpy(layout):
    batch = np.random.default_rng(0).integers(0, 256, (3, 17, 23, 3), np.uint8)
    expected = (batch / 255 - MEAN) / STD
    if layout == "NCHW":
        expected = expected.transpose(0, 3, 1, 2)
    got = frames.to_tensor(batch, mean=MEAN, std=STD, layout=layout)
    # Three roundings to float32 of numbers below 5.
    assert np.abs(got - expected).max() <= 3 * 5 * 2.0**-24
    half = frames.to_tensor(list(batch), mean=MEAN, std=STD, layout=layout, dtype="float16")
    assert half.dtype == np.float16
    assert np.array_equal(half, got.astype(np.float16))


def test_one_picture_is_a_batch_of_one_and_gray_has_one_channel():
    gray = np.array([[0, 255]], dtype=np.uint8)
    got = frames.to_tensor(gray, mean=0.5, std=0.5)
    assert got.shape == (1, 1, 1, 2)
    assert got.ravel() == pytest.approx([-1.0, 1.0], abs=3 * 2.0**-24)
    assert frames.to_tensor([gray, gray], mean=[0.5], std=[0.5]).shape == (2, 1, 1, 2)


def test_out_is_written_and_must_fit():
    array = picture(8, 9)
    out = np.empty((1, 3, 8, 9), dtype=np.float32)
    assert frames.to_tensor(array, mean=MEAN, std=STD, out=out) is out
    assert np.array_equal(out, frames.to_tensor(array, mean=MEAN, std=STD))
    for wrong in (out[0], out.astype(np.float64), out.transpose(0, 1, 3, 2), [1.0]):
        with pytest.raises(InputError, match="out must be"):
            frames.to_tensor(array, mean=MEAN, std=STD, out=wrong)


@pytest.mark.parametrize(
    ("arrays", "constants"),
    [
        ([], {"mean": 0, "std": 1}),
        ([np.zeros((2, 2, 3), np.uint8), np.zeros((3, 2, 3), np.uint8)], {"mean": 0, "std": 1}),
        (np.zeros((2, 2, 4), np.uint8), {"mean": 0, "std": 1}),
        (np.zeros((2, 2, 3), np.uint8), {"mean": 0, "std": 0}),
        (np.zeros((2, 2, 3), np.uint8), {"mean": (0, 0), "std": 1}),
        (np.zeros((2, 2, 3), np.uint8), {"mean": float("nan"), "std": 1}),
    ],
)
def test_what_has_no_numbers_is_refused(arrays, constants):
    with pytest.raises(InputError):
        frames.to_tensor(arrays, **constants)


def test_pixels_become_what_pillow_makes_of_them():
    array = picture(90, 160)
    image = Image.fromarray(array)
    bilinear = Image.Resampling.BILINEAR
    whole, cut, padded = (
        frames.decode_to_tensor([array], size=(50, 60), fit=fit, **LEVELS)[0].transpose(1, 2, 0)
        for fit in ("stretch", "crop", "pad")
    )
    assert np.abs(whole - np.asarray(image.resize((60, 50), bilinear))).max() < 1e-3
    assert np.abs(cut - np.asarray(ImageOps.fit(image, (60, 50), bilinear))).max() <= 1.001
    inner = np.asarray(image.resize((60, 34), bilinear))
    assert np.abs(padded[8:42] - inner).max() < 1e-3
    assert (padded[:8] == 0).all()
    assert (padded[42:] == 0).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_are_turned_upright_before_they_are_cut(orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    buffer = io.BytesIO()
    Image.fromarray(picture(320, 480)).save(buffer, "JPEG", quality=95, exif=exif)
    upright = ImageOps.exif_transpose(Image.open(buffer))
    for fit in ("stretch", "crop"):
        got = frames.decode_to_tensor([buffer.getvalue()], size=(40, 30), fit=fit, **LEVELS)[0]
        region = upright if fit == "stretch" else ImageOps.fit(upright, (300, 400))
        expected = np.asarray(region.resize((30, 40), Image.Resampling.BILINEAR), dtype=float)
        # 40 dB: a mirrored or turned picture is below 20.
        assert np.mean((got.transpose(1, 2, 0) - expected) ** 2) < 255**2 / 1e4


def test_a_big_jpeg_is_decoded_at_a_part_of_its_size_and_46_db_from_the_exact_result():
    array = picture(1080, 1920)
    jpeg = frames.encode_jpeg(array, quality=90)
    tensor, (info,) = frames.decode_to_tensor([jpeg], size=(384, 384), return_info=True, **LEVELS)
    assert info.scale_denominator == 2
    full = Image.fromarray(frames.decode(jpeg))
    exact = np.asarray(full.resize((384, 384), Image.Resampling.BILINEAR), dtype=float)
    error = np.mean((tensor[0].transpose(1, 2, 0) - exact) ** 2)
    assert 10 * np.log10(255**2 / error) >= 46


def test_one_bad_item_spoils_no_other_and_order_is_kept():
    arrays = [picture(48, 64, seed) for seed in range(6)]
    items = [frames.encode_png(array) for array in arrays]
    items[2] = b"nothing"
    tensor, infos = frames.decode_to_tensor(
        items, size=(48, 64), on_error="record", return_info=True, **LEVELS
    )
    assert np.isnan(tensor[2]).all()
    assert isinstance(infos[2].error, UnsupportedImageError)
    for i in (0, 1, 3, 4, 5):
        assert np.abs(tensor[i].transpose(1, 2, 0) - arrays[i]).max() < 1e-3
        assert infos[i].error is None


def test_the_first_error_names_its_item():
    good = frames.encode_jpeg(picture(48, 64))
    with pytest.raises(DamagedImageError) as caught:
        frames.decode_to_tensor([good, good[:200]], size=(8, 8), **LEVELS)
    assert caught.value.__notes__ == ["item 1 of 2"]


def test_what_only_pillow_reads_comes_through_pillow(tmp_path):
    array = picture(48, 64)
    Image.fromarray(array).save(tmp_path / "frame.tiff")
    tensor, (info,) = frames.decode_to_tensor(
        [tmp_path / "frame.tiff"], size=(48, 64), return_info=True, **LEVELS
    )
    assert info.codec.startswith("Pillow")
    assert np.abs(tensor[0].transpose(1, 2, 0) - array).max() < 1e-3


@pytest.mark.parametrize(
    "options",
    [{"fit": "fill"}, {"size": (0, 4)}, {"dtype": "float64"}, {"on_error": "skip"}, {"threads": 0}],
)
def test_options_that_there_are_not_are_refused(options):
    jpeg = frames.encode_jpeg(picture(8, 8))
    with pytest.raises(InputError):
        frames.decode_to_tensor([jpeg], **({"size": (4, 4)} | LEVELS | options))
