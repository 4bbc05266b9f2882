import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from curriculum_labeling.data import decode as module
from curriculum_labeling.data.decode import UnreadableImage, decode, decode_bytes, jpeg_decoder
from tests.data.photos import scene


@pytest.fixture(params=["simplejpeg", "pillow"])
def decoder(request, monkeypatch):
    """Both ways to decode JPEG."""
    if request.param == "pillow":
        monkeypatch.setattr(module, "simplejpeg", None)
    else:
        pytest.importorskip("simplejpeg")
    assert jpeg_decoder() == request.param


def encode(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixels(data, resolution=30):
    return decode_bytes(data, resolution, name="photo").astype(int)


def center(image, resolution=30):
    """The reference: resize the shorter side, then crop the center, both by Pillow's plain functions."""
    return np.asarray(ImageOps.fit(image.convert("RGB"), (resolution,) * 2, Image.Resampling.BICUBIC)).astype(int)


def test_an_image_of_the_resolution_keeps_its_pixels(tmp_path):
    scene(32, 32).save(tmp_path / "a.png")
    assert (decode(tmp_path / "a.png", 32) == np.asarray(scene(32, 32))).all()


@pytest.mark.parametrize("size", [(40, 30), (30, 90), (31, 31), (7, 500), (1, 1), (2000, 3)])
def test_the_shorter_side_is_resized_and_the_center_kept(size):
    found = pixels(encode(scene(*size)))
    assert found.shape == (30, 30, 3)
    assert abs(found - center(scene(*size))).max() <= 2


@pytest.mark.parametrize("size", [(80, 61), (640, 427), (427, 641), (1023, 999)])
@pytest.mark.parametrize("resolution", [16, 30])
@pytest.mark.usefixtures("decoder")
def test_jpeg_shrunk_while_decoding_looks_like_one_decoded_in_full(size, resolution):
    data = encode(scene(*size), "JPEG", quality=95)
    reference = center(Image.open(io.BytesIO(data)), resolution)
    assert abs(pixels(data, resolution) - reference).mean() < 1.5


def test_both_jpeg_decoders_see_the_same_picture(monkeypatch):
    pytest.importorskip("simplejpeg")
    data = encode(scene(301, 203), "JPEG", quality=95)
    fast = pixels(data)
    monkeypatch.setattr(module, "simplejpeg", None)
    assert abs(fast - pixels(data)).max() <= 2


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.usefixtures("decoder")
def test_the_exif_orientation_is_followed(orientation, kind):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 100, "subsampling": 0} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}
    data = encode(scene(64, 48), kind, exif=exif, **options)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    assert abs(pixels(data) - center(upright)).max() <= 4


@pytest.mark.usefixtures("decoder")
def test_damaged_exif_is_no_reason_to_refuse_good_pixels():
    data = encode(scene(), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12\0\x03")
    assert abs(pixels(data) - center(scene())).mean() < 10


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.usefixtures("decoder")
def test_grayscale_becomes_three_equal_channels(kind):
    found = pixels(encode(scene().convert("L"), kind))
    assert (found[..., 0] == found[..., 1]).all()
    assert (found[..., 0] == found[..., 2]).all()
    assert abs(found - center(scene().convert("L"))).mean() < 3


@pytest.mark.parametrize("mode", ["1", "P", "L", "RGB", "RGBA", "LA", "I;16"])
def test_every_mode_of_png_gives_rgb(mode):
    image = scene().convert("L").convert(mode) if mode == "I;16" else scene().convert(mode)
    assert pixels(encode(image)).shape == (30, 30, 3)


def test_a_palette_is_looked_up():
    palette = scene().convert("P", palette=Image.Palette.ADAPTIVE)
    assert (pixels(encode(palette)) == center(palette)).all()


@pytest.mark.usefixtures("decoder")
def test_cmyk_is_converted():
    found = pixels(encode(Image.new("CMYK", (40, 40), (0, 255, 255, 0)), "JPEG"))
    assert found[15, 15, 0] > 200
    assert found[15, 15, 1:].max() < 60


def test_sixteen_bits_are_scaled_not_clipped():
    steps = np.repeat(np.array([0, 257, 128 * 257, 65535], np.uint16), 4)[None].repeat(16, 0)
    found = pixels(encode(Image.fromarray(steps)), 16)
    assert found[8, ::4, 0].tolist() == [0, 1, 128, 255]
    assert (pixels(encode(Image.fromarray(steps), "TIFF"), 16) == found).all()


def test_wide_integers_and_floats_have_no_agreed_range():
    wide = encode(Image.fromarray(np.full((8, 8), 70000, np.int32)), "TIFF")
    with pytest.raises(UnreadableImage, match=r"32-bit pixels outside 0 to 65535"):
        pixels(wide)
    with pytest.raises(UnreadableImage, match=r"floating-point pixels, which have no agreed range"):
        pixels(encode(Image.new("F", (8, 8), 0.5), "TIFF"))


def test_transparency_is_shown_on_white():
    half = Image.new("RGBA", (30, 30), (0, 0, 0, 128))
    clear = Image.new("RGBA", (30, 30), (255, 0, 0, 0))
    assert abs(pixels(encode(half)) - 127).max() <= 1
    assert (pixels(encode(clear)) == 255).all()
    palette = Image.new("P", (30, 30), 3)
    palette.putpalette(range(48))
    assert (pixels(encode(palette, transparency=3)) == 255).all()
    assert (pixels(encode(palette, "GIF", transparency=3)) == 255).all()
    assert (pixels(encode(Image.new("RGB", (30, 30), (1, 2, 3)), transparency=(1, 2, 3))) == 255).all()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.usefixtures("decoder")
def test_truncated_files_are_refused(kind, share):
    data = encode(scene(200, 200), kind)
    with pytest.raises(UnreadableImage, match=r"^photo is (truncated or damaged|not an image)"):
        pixels(data[: int(len(data) * share)])


@pytest.mark.usefixtures("decoder")
def test_a_progressive_jpeg_without_its_end_is_refused():
    data = encode(scene(200, 200), "JPEG", progressive=True)
    with pytest.raises(UnreadableImage, match=r"photo is truncated or damaged \(.*truncated"):
        pixels(data[: len(data) // 2])


@pytest.mark.usefixtures("decoder")
def test_bytes_that_a_decoder_only_complains_about_do_not_matter():
    data = encode(scene(), "JPEG")
    stuffed = data[:-2] + b"\0" * 20 + data[-2:]
    assert (pixels(stuffed) == pixels(data)).all()


def test_what_is_no_image_is_refused(tmp_path):
    (tmp_path / "notes.jpg").write_text("not a photo")
    (tmp_path / "empty.png").touch()
    with pytest.raises(UnreadableImage, match=r"notes\.jpg is not an image of a known format\.$"):
        decode(tmp_path / "notes.jpg", 8)
    with pytest.raises(UnreadableImage, match=r"empty\.png is empty\.$"):
        decode(tmp_path / "empty.png", 8)
    with pytest.raises(UnreadableImage, match=r"gone\.png cannot be opened \(No such file or directory\)\.$"):
        decode(tmp_path / "gone.png", 8)
    with pytest.raises(UnreadableImage, match=r"is not an image of a known format"):
        pixels(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")


def bomb(width, height):
    """A PNG of a few bytes that claims to be enormous."""

    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + part(b"IDAT", zlib.compress(b"\0" * 100)) + part(b"IEND", b"")


def test_decompression_bombs_are_refused_before_they_are_unpacked(monkeypatch):
    with pytest.raises(UnreadableImage, match=r"has more than the 178956970 pixels allowed"):
        pixels(bomb(60_000, 60_000))
    monkeypatch.setattr(module, "MAX_PIXELS", 1000)
    with pytest.raises(UnreadableImage, match=r"is 40 × 30 pixels, more than the 1000 allowed"):
        pixels(encode(scene()))


def test_files_of_absurdly_many_bytes_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    (tmp_path / "large.bmp").write_bytes(b"x" * 101)
    with pytest.raises(UnreadableImage, match=r"large\.bmp has 101 bytes, more than the 100 allowed"):
        decode(tmp_path / "large.bmp", 8)


@pytest.mark.parametrize("resolution", [0, -3, 5000])
def test_the_resolution_must_be_sensible(resolution):
    with pytest.raises(ValueError, match=f"resolution must be from 1 to 4096 pixels, got {resolution}"):
        decode_bytes(b"x", resolution, name="photo")


FILES = [encode(scene(), kind) for kind in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), original=st.sampled_from(FILES))
def test_damaged_bytes_give_pixels_or_one_kind_of_error(data, original):
    damaged = bytearray(original)
    for place in data.draw(st.lists(st.integers(0, len(original) - 1), min_size=1, max_size=8)):
        damaged[place] = data.draw(st.integers(0, 255))
    try:
        found = decode_bytes(bytes(damaged), 8, name="photo")
    except UnreadableImage:
        return
    assert found.shape == (8, 8, 3)
    assert found.dtype == np.uint8


def test_real_photos_are_decoded_alike_by_both_decoders(real_data, monkeypatch):
    pytest.importorskip("simplejpeg")
    photos = sorted((real_data / "trashnet").glob("*/*.jpg"))[::250]
    assert photos
    fast = [decode(photo, 64).astype(int) for photo in photos]
    monkeypatch.setattr(module, "simplejpeg", None)
    slow = [decode(photo, 64) for photo in photos]
    assert max(abs(a - b).mean() for a, b in zip(fast, slow, strict=True)) < 1
