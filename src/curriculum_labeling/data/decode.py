"""One image file in, one uint8 square out: shorter side resized, center cropped.

JPEG goes through simplejpeg where it is installed and through Pillow otherwise. Both let the
decoder shrink by 2, 4 or 8 in the frequency domain, as long as twice the wanted size is left for
the antialiasing filter: within 1 grey level, on average, of decoding in full.
"""

from __future__ import annotations

import errno
import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

PixelArray = NDArray[np.uint8]

# A closed list: Pillow would start Ghostscript for an EPS file.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF")
MAX_PIXELS = 178_956_970  # Pillow's own bound against decompression bombs; photos of 108 megapixels pass
MAX_BYTES = 1 << 30
ORIENTATION_TAG = 0x0112
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class UnreadableImage(ValueError):  # noqa: N818 (it is about the file)
    """A file that is no image we can read: `path` and `reason` make one sentence."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} {self.reason}."


def jpeg_decoder() -> str:
    """The library that decodes JPEG here: "simplejpeg" or "pillow"."""
    return "pillow" if simplejpeg is None else "simplejpeg"


def decode(path: str | Path, resolution: int) -> PixelArray:
    """The image in this file as a uint8 array resolution×resolution×3; raises UnreadableImage."""
    try:
        check_size(os.path.getsize(path), str(path))
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableImage(str(path), f"cannot be opened ({error.strerror})") from error
    return decode_bytes(data, resolution, name=str(path))


def decode_bytes(data: bytes, resolution: int, *, name: str) -> PixelArray:
    """The image in these bytes as a uint8 array resolution×resolution×3; `name` is for the error message."""
    check_resolution(resolution)
    check_size(len(data), name)
    with warnings.catch_warnings():
        # Pillow warns of odd metadata and of images above half our own limit; neither is the user's business.
        warnings.simplefilter("ignore")
        try:
            return np.asarray(_decode(data, resolution, name))
        except UnreadableImage:
            raise
        except MemoryError as error:  # which is no fault of the image
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), name) from error
        except Image.DecompressionBombError as error:
            raise UnreadableImage(name, f"has more than the {MAX_PIXELS} pixels allowed") from error
        except UnidentifiedImageError as error:
            raise UnreadableImage(name, "is not an image of a known format") from error
        except Exception as error:  # on hostile bytes Pillow's parsers raise nearly anything
            raise UnreadableImage(name, f"is truncated or damaged ({_first_line(error)})") from error


def check_resolution(resolution: int) -> None:
    """Refuse a resolution that is no sensible number of pixels."""
    if not 1 <= resolution <= 4096:
        raise ValueError(f"resolution must be from 1 to 4096 pixels, got {resolution}; 32, 96 and 224 are usual.")


def check_size(size: int, name: str) -> None:
    """Refuse a file of no bytes, or of absurdly many."""
    if size == 0:
        raise UnreadableImage(name, "is empty")
    if size > MAX_BYTES:
        raise UnreadableImage(name, f"has {size} bytes, more than the {MAX_BYTES} allowed")


def square(image: Image.Image, resolution: int, *, size: tuple[int, int] | None = None) -> Image.Image:
    """The center square of an image, resized with antialiasing.

    `size` is the full width and height where `image` was already shrunk while decoding: a shrunken
    image has its last row or column rounded up, so the square is placed in full coordinates.
    """
    width, height = size or image.size
    if image.size == (resolution, resolution) == (width, height):
        return image
    shrunk = next(f for f in (1, 2, 4, 8) if -(-width // f) <= image.width)
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    box = (left / shrunk, top / shrunk, (left + side) / shrunk, (top + side) / shrunk)
    return image.resize((resolution, resolution), Image.Resampling.BICUBIC, box=box)


def flatten(image: Image.Image) -> Image.Image:
    """Any kind of image as RGB: 16 bits scaled to 8, transparency on white, palettes and CMYK converted."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if image.mode == "F":
        raise UnreadableImage(_name(image), "has floating-point pixels, which have no agreed range")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _decode(data: bytes, resolution: int, name: str) -> Image.Image:
    with Image.open(io.BytesIO(data), formats=[f for f in FORMATS if _known(f)]) as image:
        size = image.size
        if size[0] * size[1] > MAX_PIXELS:
            raise UnreadableImage(name, f"is {size[0]} × {size[1]} pixels, more than the {MAX_PIXELS} allowed")
        shrink = max(f for f in (1, 2, 4, 8) if f == 1 or min(size) / f >= 2 * resolution)
        fast = _fast_jpeg(image, data, shrink)
        if fast is None:
            image.draft(None, (size[0] // shrink, size[1] // shrink))
            image.load()
            size = size if image.format in ("JPEG", "MPO") else image.size  # Pillow turns TIFF files upright itself
        upright = UPRIGHT.get(_orientation(image))
        small = square(flatten(image if fast is None else fast), resolution, size=size)
    # A centered square may be turned after it was cut: the two commute.
    return small if upright is None else small.transpose(upright)


def _fast_jpeg(image: Image.Image, data: bytes, shrink: int) -> Image.Image | None:
    """A JPEG decoded by simplejpeg, or None where Pillow should judge it (CMYK, irregular or cut files)."""
    if simplejpeg is None or image.format not in ("JPEG", "MPO") or image.mode not in ("RGB", "L"):
        return None
    width, height = image.size
    try:
        pixels = simplejpeg.decode_jpeg(
            data, "RGB", min_width=-(-width // shrink), min_height=-(-height // shrink), strict=True
        )
    except ValueError:
        return None
    return Image.fromarray(pixels)


def _eight_bits(image: Image.Image) -> Image.Image:
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() > 65535:
        raise UnreadableImage(_name(image), "has 32-bit pixels outside 0 to 65535, which have no agreed range")
    return Image.fromarray(((values + 128) // 257).astype(np.uint8))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION_TAG, 1))
    except Exception:  # damaged metadata is no reason to refuse good pixels
        return 1


def _known(image_format: str) -> bool:
    if image_format not in Image.OPEN:
        Image.init()
    return image_format in Image.OPEN


def _name(image: Image.Image) -> str:
    return getattr(image, "filename", "") or "the image"


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
