from dataclasses import replace

import kornia
import numpy as np
import pytest
import torch
from benchmarks.pillow_loop import change
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from curriculum_labeling.vision import geometric
from curriculum_labeling.vision.geometric import resample
from curriculum_labeling.vision.grid import affine_maps
from curriculum_labeling.vision.operations import Operation
from curriculum_labeling.vision.plan import Plan
from tests.vision.pictures import as_pillow, pictures

torch.set_num_threads(1)
BLACK = torch.zeros(3, dtype=torch.uint8)


def plan_of(count, steps=((Operation.Identity, 0.0),), shift=(0, 0), flip=False, box=(0, 0, 0)):
    operations, values = zip(*steps, strict=True)
    return Plan(
        operations=np.tile(np.array(operations, dtype=np.int64), (count, 1)),
        values=np.tile(np.array(values, dtype=np.float64), (count, 1)),
        shift_x=np.full(count, shift[0]),
        shift_y=np.full(count, shift[1]),
        flip=np.full(count, flip),
        boxes=np.tile(np.array(box), (count, 1, 1)),
    )


def pillows_crop(picture, crop, flip):
    left, top, width, height = crop
    box = (left, top, left + width, top + height)
    image = Image.fromarray(picture)
    image = image.resize(image.size, Image.Resampling.BILINEAR, box=box)
    return np.asarray(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else image)


def turned(batch, border="fill", fill=BLACK, **plan):
    return resample(batch, plan_of(len(batch), **plan), border=border, fill=fill[: batch.shape[1]])


geometric_step = st.one_of(
    st.tuples(st.just(Operation.Rotate), st.floats(-30, 30)),
    st.tuples(st.sampled_from([Operation.TranslateX, Operation.TranslateY]), st.floats(-12, 12)),
    st.tuples(st.sampled_from([Operation.ShearX, Operation.ShearY]), st.floats(-0.3, 0.3)),
)


@settings(deadline=None, max_examples=100)
@given(step=geometric_step, channels=st.sampled_from([1, 3]), fill=st.sampled_from([0, 128]))
def test_an_operation_moves_pixels_where_pillow_moves_them(step, channels, fill):
    batch = pictures(2, channels, 21, 32)
    found = as_pillow(turned(batch, steps=(step,), fill=torch.full((3,), fill, dtype=torch.uint8)))
    expected = [np.asarray(change(Image.fromarray(picture), *step, fill)) for picture in as_pillow(batch)]
    assert np.array_equal(found, np.stack(expected))


@settings(deadline=None, max_examples=60)
@given(steps=st.tuples(geometric_step, geometric_step))
def test_two_operations_are_one_pillow_transform_by_their_product(steps):
    batch = pictures(1, 3, 24, 32)
    matrix = affine_maps(plan_of(1, steps), (24, 32))[0].ravel()
    expected = Image.fromarray(as_pillow(batch)[0]).transform((32, 24), Image.Transform.AFFINE, tuple(matrix))
    assert np.array_equal(as_pillow(turned(batch, steps=steps))[0], np.asarray(expected))


@settings(deadline=None, max_examples=40)
@given(first=geometric_step, second=geometric_step)
def test_the_product_maps_a_place_as_the_second_map_then_the_first_does(first, second):
    place = np.array([3.25, 17.5, 1.0])
    one, two, both = (affine_maps(plan_of(1, steps), (24, 32))[0] for steps in ((first,), (second,), (first, second)))
    assert np.allclose(both @ place, one @ np.append(two @ place, 1))


def test_a_rotation_agrees_with_kornias_away_from_the_edges():
    rows = torch.linspace(0, 200, 32)
    batch = (rows[:, None] * 0.5 + rows * 0.5).to(torch.uint8).repeat(1, 3, 1, 1)
    expected = kornia.geometry.rotate(batch.float(), torch.tensor([20.0]), mode="nearest")
    difference = (turned(batch, steps=((Operation.Rotate, 20.0),)).float() - expected)[..., 8:-8, 8:-8]
    # The two may choose different neighbors for places half way between; those are one step apart.
    assert difference.abs().max() <= 7
    assert difference.abs().mean() < 1


@pytest.mark.parametrize("shift", [(0, 0), (4, -4), (-3, 2)])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("border", ["fill", "reflect"])
def test_a_crop_is_that_of_the_padded_image(shift, flip, border):
    batch = pictures(2, 3, 20, 24)
    padded = np.pad(batch.numpy(), ((0, 0), (0, 0), (4, 4), (4, 4)), mode={"fill": "constant"}.get(border, border))
    left, top = 4 + shift[0], 4 + shift[1]
    expected = padded[:, :, top : top + 20, left : left + 24]
    expected = expected[..., ::-1] if flip else expected
    assert np.array_equal(turned(batch, border, shift=shift, flip=flip).numpy(), expected)


def test_a_crop_of_a_rotated_image_does_not_see_beyond_its_frame():
    batch = torch.full((1, 1, 16, 16), 200, dtype=torch.uint8)
    moved = turned(batch, steps=((Operation.TranslateX, -8.0),), shift=(-4, 0))
    assert (moved[0, 0, 0] == torch.tensor([0] * 12 + [200] * 4)).all()


@settings(deadline=None, max_examples=60)
@given(data=st.data(), flip=st.booleans(), channels=st.sampled_from([1, 3]))
def test_a_resized_crop_is_pillows_bilinear_resize_of_its_box(data, flip, channels):
    batch = pictures(1, channels, 40, 56)
    width, height = data.draw(st.integers(4, 56)), data.draw(st.integers(4, 40))
    crop = (data.draw(st.integers(0, 56 - width)), data.draw(st.integers(0, 40 - height)), width, height)
    plan = replace(plan_of(1, flip=flip), crops=np.array([crop]))
    found = as_pillow(resample(batch, plan, border="fill", fill=BLACK[:channels]))[0]
    difference = found.astype(int) - pillows_crop(as_pillow(batch)[0], crop, flip)
    assert abs(difference).max() <= 2


def test_a_resized_crop_of_a_moved_image_shows_the_fill_color_and_cutout():
    batch = torch.full((1, 3, 16, 16), 200, dtype=torch.uint8)
    fill = torch.tensor([1, 2, 3], dtype=torch.uint8)
    plan = plan_of(1, ((Operation.TranslateX, 8.0),), box=(2, 2, 4))
    found = resample(batch, replace(plan, crops=np.array([[4, 0, 8, 8]])), border="fill", fill=fill)
    expected = torch.full((1, 3, 16, 16), 200, dtype=torch.uint8)
    expected[..., 8:] = fill.view(3, 1, 1)
    expected[..., :4, :4] = fill.view(3, 1, 1)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(("center", "covered"), [((8, 10), (4, 12, 6, 14)), ((0, 15), (0, 4, 11, 16))])
def test_cutout_blanks_a_square_clipped_at_the_edges(center, covered):
    batch = pictures(2, 3, 16, 16)
    left, right, top, bottom = covered
    expected = batch.clone()
    expected[:, :, top:bottom, left:right] = torch.tensor([1, 2, 3], dtype=torch.uint8).view(3, 1, 1)
    assert torch.equal(turned(batch, box=(*center, 8), fill=torch.tensor([1, 2, 3], dtype=torch.uint8)), expected)


@pytest.mark.parametrize("chunk", [1, 600, 1 << 20])
def test_the_chunk_size_does_not_change_the_result(chunk, monkeypatch):
    batch = pictures(7, 3, 16, 16)
    rng = np.random.default_rng(0)
    plan = Plan(
        operations=rng.integers(10, 15, (7, 2)),
        values=rng.uniform(-0.3, 0.3, (7, 2)) * np.where(np.arange(7) % 2, 1, 0)[:, None],
        shift_x=rng.integers(-2, 3, 7),
        shift_y=rng.integers(-2, 3, 7),
        flip=rng.random(7) < 0.5,
        boxes=np.tile(np.array([3, 4, 4]), (7, 1, 1)),
    )
    expected = resample(batch, plan, border="reflect", fill=BLACK)
    monkeypatch.setattr(geometric, "CHUNK", chunk)
    assert torch.equal(resample(batch, plan, border="reflect", fill=BLACK), expected)
