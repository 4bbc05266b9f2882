import base64
import io

import numpy as np
from PIL import Image

from curriculum_labeling.report.read import read_run
from curriculum_labeling.report.sprites import EMPTY, SIDE, draw_sprite, open_pixels


def test_each_row_is_drawn_once_at_its_place():
    pixels = np.zeros((40, 8, 8, 3), dtype=np.uint8)
    pixels[:, :, :, 0] = np.arange(40)[:, None, None] * 6
    sprite = draw_sprite(pixels, [30, 2, 30, *range(3, 25)])
    with Image.open(io.BytesIO(base64.b64decode(sprite.uri.partition(",")[2]))) as sheet:
        assert sheet.size == (sprite.columns * SIDE, sprite.lines * SIDE)
        for row, place in sprite.places.items():
            red = sheet.convert("RGB").getpixel((place.column * SIDE + SIDE // 2, place.line * SIDE + SIDE // 2))[0]
            assert abs(red - 6 * row) < 16
    assert len(sprite.places) == 24


def test_gray_images_are_drawn_too():
    assert draw_sprite(np.zeros((1, 200, 200, 1), dtype=np.uint8), [0]).places.keys() == {0}


def test_without_pixels_there_is_no_sprite():
    assert draw_sprite(None, [0]) is EMPTY


def test_pixels_come_from_the_cache_of_the_run(finished_run):
    pixels = open_pixels(read_run(finished_run).rows)
    assert pixels.shape == (560, 16, 16, 3)


def test_a_cache_of_another_length_or_a_damaged_one_is_not_used(run):
    path = next((run / "cache").glob("16px-*/pixels.npy"))
    np.save(path, np.zeros((3, 16, 16, 3), dtype=np.uint8))
    assert open_pixels(read_run(run).rows) is None
    path.write_bytes(b"no array")
    assert open_pixels(read_run(run).rows) is None
