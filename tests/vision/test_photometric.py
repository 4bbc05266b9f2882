import kornia
import numpy as np
import pytest
import torch
from benchmarks.pillow_loop import change
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from curriculum_labeling.vision.operations import Operation
from curriculum_labeling.vision.photometric import change_colors, look_up
from curriculum_labeling.vision.plan import Plan
from tests.vision.pictures import as_pillow, pictures

torch.set_num_threads(1)
VALUES = {
    Operation.Invert: [0.0],
    Operation.AutoContrast: [0.0],
    Operation.Equalize: [0.0],
    Operation.Solarize: [0, 26, 100.5, 255, 256],
    Operation.Posterize: [1, 2, 4, 8],
    Operation.Contrast: [0.1, 0.7, 1.0, 1.72],
    Operation.Brightness: [0.1, 0.7, 1.0, 1.72],
    Operation.Color: [0.1, 0.7, 1.0, 1.72],
    Operation.Sharpness: [0.1, 0.7, 1.0, 1.72],
}


def plan_of(*steps, count):
    """A plan in which every image undergoes these (operation, value) pairs and nothing else."""
    operations, values = zip(*steps, strict=True)
    zeros = np.zeros(count, dtype=np.int64)
    return Plan(
        operations=np.tile(np.array(operations, dtype=np.int64), (count, 1)),
        values=np.tile(np.array(values, dtype=np.float64), (count, 1)),
        shift_x=zeros,
        shift_y=zeros,
        flip=zeros.astype(bool),
        boxes=np.zeros((count, 0, 3), dtype=np.int64),
    )


def ours(batch, *steps):
    images, tables = change_colors(batch, plan_of(*steps, count=len(batch)))
    return look_up(tables.values, images)


def pillows(batch, *steps):
    results = []
    for picture in as_pillow(batch):
        image = Image.fromarray(picture)
        for operation, value in steps:
            image = change(image, operation, value)
        results.append(np.asarray(image))
    return np.stack(results)


@pytest.mark.parametrize(("operation", "value"), [(op, value) for op, values in VALUES.items() for value in values])
@pytest.mark.parametrize("channels", [1, 3])
def test_an_operation_gives_exactly_pillows_pixels(operation, value, channels):
    batch = pictures(6, channels, 20, 33)
    assert np.array_equal(as_pillow(ours(batch, (operation, value))), pillows(batch, (operation, value)))


step = st.sampled_from(list(VALUES)).flatmap(lambda op: st.tuples(st.just(op), st.sampled_from(VALUES[op])))


@settings(deadline=None, max_examples=80)
@given(steps=st.lists(step, min_size=2, max_size=4), seed=st.integers(0, 20))
def test_operations_in_a_row_give_exactly_pillows_pixels(steps, seed):
    batch = pictures(3, 3, 16, 16, seed)
    assert np.array_equal(as_pillow(ours(batch, *steps)), pillows(batch, *steps))


@pytest.mark.parametrize("operation", [Operation.AutoContrast, Operation.Equalize])
def test_flat_and_nearly_flat_images_stay_as_pillow_leaves_them(operation):
    flat = torch.full((3, 3, 16, 16), 77, dtype=torch.uint8)
    flat[1, 0, 0, 0] = 78
    flat[2, :, :8] = 255
    assert np.array_equal(as_pillow(ours(flat, (operation, 0.0))), pillows(flat, (operation, 0.0)))


def test_autocontrast_is_pillows_for_every_pair_of_extremes():
    pairs = torch.tensor([(low, high) for low in range(0, 256, 5) for high in range(low, 256, 3)], dtype=torch.uint8)
    batch = pairs.repeat(1, 32).view(-1, 1, 8, 8)
    step = (Operation.AutoContrast, 0.0)
    assert np.array_equal(as_pillow(ours(batch, step)), pillows(batch, step))


def kornias(operation, value, batch):
    floats = batch.float() / 255
    enhance = kornia.enhance
    result = {
        Operation.Invert: lambda: enhance.invert(floats),
        Operation.Equalize: lambda: enhance.equalize(floats),
        Operation.Posterize: lambda: enhance.posterize(floats, int(value)),
        Operation.Solarize: lambda: enhance.solarize(floats, (value - 0.5) / 255),
        Operation.Brightness: lambda: enhance.adjust_brightness_accumulative(floats, value),
        Operation.Contrast: lambda: enhance.adjust_contrast_with_mean_subtraction(floats, value),
        Operation.Color: lambda: enhance.adjust_saturation_with_gray_subtraction(floats, value),
        Operation.Sharpness: lambda: enhance.sharpness(floats, value),
    }[operation]()
    return result * 255


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        (Operation.Invert, 0.0),
        (Operation.Equalize, 0.0),
        (Operation.Posterize, 3.0),
        (Operation.Solarize, 100.0),
        (Operation.Brightness, 0.6),
        (Operation.Contrast, 1.4),
        (Operation.Color, 1.4),
        (Operation.Sharpness, 0.6),
    ],
)
def test_an_operation_is_within_a_grey_level_of_kornias(operation, value):
    batch = pictures(4)
    difference = ours(batch, (operation, value)).float() - kornias(operation, value, batch)
    # Pillow truncates where kornia keeps fractions, and rounds grey levels and means on the way.
    assert difference.abs().max() < {Operation.Color: 2.0, Operation.Contrast: 2.0, Operation.Sharpness: 2.0}.get(
        operation, 1.0 + 1e-3
    )


def test_color_leaves_grey_images_alone():
    batch = pictures(2, 1)
    assert torch.equal(ours(batch, (Operation.Color, 0.3)), batch)


def test_the_batch_that_was_given_stays_as_it_was():
    batch = pictures(4)
    before = batch.clone()
    ours(batch, (Operation.Sharpness, 0.1), (Operation.Equalize, 0.0))
    assert torch.equal(batch, before)
