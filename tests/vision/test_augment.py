import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks import pillow_loop
from hypothesis import given, settings
from hypothesis import strategies as st

from curriculum_labeling.vision import draws, geometric
from curriculum_labeling.vision.augment import augment, carry_out
from curriculum_labeling.vision.grid import build_grid
from curriculum_labeling.vision.operations import Operation
from curriculum_labeling.vision.plan import draw_plan
from curriculum_labeling.vision.policy import parse_policy
from curriculum_labeling.vision.recipe import Recipe, build_recipe
from tests.vision.pictures import as_pillow, pictures

torch.set_num_threads(1)
POLICY = [[["Invert", 0.5, 7], ["Rotate", 0.7, 2]], [["Cutout", 1.0, 5], ["Equalize", 0.3, None]]]


def recipes():
    return [
        build_recipe("moderate", border="reflect"),
        build_recipe("moderate", flippable=False, padding=2),
        build_recipe("heavy", border="reflect"),
        build_recipe("heavy", fill=(120, 110, 100), steps=3),
        build_recipe("policy", policy=parse_policy(POLICY)),
        build_recipe("heavy", crop="resized", fill=(9, 8, 7)),
    ]


@pytest.mark.parametrize("size", [(32, 32), (24, 40)])
@pytest.mark.parametrize("channels", [1, 3])
def test_heavy_augmentation_is_pillows_to_the_pixel(size, channels):
    batch, rows = pictures(200, channels, *size), torch.arange(200)
    recipe = build_recipe("heavy", border="fill")
    plan = draw_plan(recipe, rows, key=4, size=size)
    # Two geometric operations become one map here and two resamplings there.
    single = (plan.operations >= Operation.Rotate).sum(axis=1) < 2
    expected = pillow_loop.carry_out(as_pillow(batch), plan)
    assert single.sum() > 150
    assert np.array_equal(as_pillow(augment(batch, rows, recipe, key=4))[single], expected[single])


@settings(deadline=None, max_examples=25)
@given(which=st.integers(0, 5), order=st.permutations(range(12)), cut=st.integers(1, 11))
def test_a_rows_augmentation_does_not_depend_on_its_batch(which, order, cut):
    batch, rows, recipe = pictures(12), torch.arange(100, 112), recipes()[which]
    whole = augment(batch, rows, recipe, key=1)
    for part in (torch.tensor(order[:cut]), torch.tensor(order[cut:])):
        assert torch.equal(augment(batch[part], rows[part], recipe, key=1), whole[part])


@pytest.mark.parametrize("which", range(6))
def test_another_key_augments_otherwise_and_the_input_stays(which):
    batch, rows = pictures(20), torch.arange(20)
    before = batch.clone()
    first, second = (augment(batch, rows, recipes()[which], key=key) for key in (1, 2))
    assert not torch.equal(first, second)
    assert first.dtype == torch.uint8
    assert first.shape == batch.shape
    assert torch.equal(batch, before)


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("channels", [1, 3])
def test_copying_lines_gives_what_looking_up_pixels_gives(which, channels, monkeypatch):
    recipe, size = recipes()[which], (24, 32)
    if channels < len(recipe.fill):
        recipe = replace(recipe, fill=recipe.fill[:1])
    batch, rows = pictures(60, channels, *size), torch.arange(60)
    assert build_grid(draw_plan(recipe, rows, key=1, size=size), size, recipe.border).straight.sum() > 10
    expected = augment(batch, rows, recipe, key=1)
    monkeypatch.setattr(
        geometric, "build_grid", lambda *of: replace(build_grid(*of), straight=np.zeros(60, dtype=np.bool_))
    )
    assert torch.equal(augment(batch, rows, recipe, key=1), expected)


def test_the_result_is_an_ordinary_tensor_that_training_can_use():
    changed = augment(pictures(2), torch.arange(2), build_recipe("heavy"), key=0)
    assert not changed.is_inference()
    weight = torch.ones(1, requires_grad=True)
    (changed.add_(1).float() * weight).sum().backward()
    assert weight.grad is not None


def test_none_changes_nothing():
    batch = pictures(3)
    assert augment(batch, torch.arange(3), build_recipe("none"), key=0) is batch


def test_a_batch_may_be_empty_or_a_single_image():
    for recipe in recipes():
        assert augment(pictures(1)[:0], torch.arange(0), recipe, key=0).shape == (0, 3, 32, 32)
        assert augment(pictures(1), torch.tensor([8]), recipe, key=0).shape == (1, 3, 32, 32)


def test_channels_last_batches_give_the_same_pixels():
    batch, rows = pictures(9), torch.arange(9)
    last = batch.to(memory_format=torch.channels_last)
    for recipe in recipes():
        assert torch.equal(augment(last, rows, recipe, key=1), augment(batch, rows, recipe, key=1))


def test_golden_pixels():
    batch = (torch.arange(4 * 3 * 8 * 8) % 251).to(torch.uint8).view(4, 3, 8, 8)
    changed = augment(batch, torch.arange(4), build_recipe("heavy"), key=draws.key(0, "augment", 0, 0))
    assert changed.long().sum(dim=(1, 2, 3)).tolist() == [9588, 8380, 15086, 9209]


def test_random_operations_come_equally_often_and_fill_their_ranges():
    plan = draw_plan(build_recipe("heavy"), torch.arange(14000), key=0, size=(32, 32))
    counts = Counter(plan.operations.ravel().tolist())
    assert len(counts) == 14
    assert all(1800 < count < 2200 for count in counts.values())
    ranges = {
        Operation.Rotate: (-27, 27),
        Operation.TranslateX: (-9, 9),
        Operation.TranslateY: (-9, 9),
        Operation.ShearX: (-0.27, 0.27),
        Operation.ShearY: (-0.27, 0.27),
        Operation.Solarize: (25.6, 256),
        Operation.Posterize: (1, 4),
        Operation.Contrast: (0.1, 1.72),
        Operation.Color: (0.1, 1.72),
        Operation.Brightness: (0.1, 1.72),
        Operation.Sharpness: (0.1, 1.72),
    }
    for operation, (low, high) in ranges.items():
        values = plan.values[plan.operations == operation]
        assert low - 1e-6 <= values.min() < low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) < values.max() <= high + 1e-6


def test_crops_flips_and_boxes_are_uniform():
    plan = draw_plan(build_recipe("heavy"), torch.arange(9000), key=0, size=(32, 32))
    for shift in (plan.shift_x, plan.shift_y):
        values, counts = np.unique(shift, return_counts=True)
        assert values.tolist() == list(range(-4, 5))
        assert counts.min() > 850
    assert 0.47 < plan.flip.mean() < 0.53
    assert (plan.boxes[:, 0, 2] == 16).all()
    assert np.unique(plan.boxes[:, 0, :2]).tolist() == list(range(32))


def test_pixels_scale_with_the_image():
    plan = draw_plan(build_recipe("heavy"), torch.arange(4000), key=0, size=(224, 112))
    assert abs(plan.values[plan.operations == Operation.TranslateX]).max() == pytest.approx(9 / 32 * 112, rel=0.02)
    assert abs(plan.values[plan.operations == Operation.TranslateY]).max() == pytest.approx(9 / 32 * 224, rel=0.02)
    assert plan.shift_x.max() == 14
    assert (plan.boxes[:, 0, 2] == 56).all()


def test_resized_crops_have_the_areas_and_ratios_they_should():
    plan = draw_plan(build_recipe("moderate", crop="resized"), torch.arange(9000), key=0, size=(200, 240))
    left, top, width, height = plan.crops.T
    assert min(left.min(), top.min()) == 0
    assert ((left + width <= 240) & (top + height <= 200)).all()
    shares, ratios = width * height / (200 * 240), width / height
    assert 0.078 < shares.min() < 0.09
    assert 0.97 < shares.max() <= 1
    assert 0.74 < ratios.min() < 0.76
    assert 1.32 < ratios.max() < 1.35
    # Few crops below half of the area had to be cut down to the image, so those are as drawn: uniform.
    small = shares[shares < 0.5]
    assert np.median(small) == pytest.approx(0.29, abs=0.01)
    assert not plan.shift_x.any()


def test_a_resized_crop_leaves_all_other_draws_as_they_were():
    padded, resized = (
        draw_plan(build_recipe("heavy", crop=crop), torch.arange(50), key=3, size=(32, 32))
        for crop in ("padded", "resized")
    )
    for name in ("operations", "values", "flip", "boxes"):
        assert np.array_equal(getattr(padded, name), getattr(resized, name))


def test_what_is_not_flippable_is_never_flipped():
    recipe = build_recipe("moderate", flippable=False)
    assert not draw_plan(recipe, torch.arange(500), key=0, size=(32, 32)).flip.any()


def test_a_policy_applies_its_operations_with_their_probabilities(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(POLICY))
    plan = draw_plan(build_recipe("policy", policy=path), torch.arange(8000), key=0, size=(32, 32))
    first, second = plan.operations.T
    assert set(first.tolist()) == {Operation.Identity, Operation.Invert, Operation.Cutout}
    assert (first == Operation.Invert).mean() == pytest.approx(0.25, abs=0.02)
    assert (first == Operation.Cutout).mean() == pytest.approx(0.5, abs=0.02)
    assert (second == Operation.Rotate).mean() == pytest.approx(0.35, abs=0.02)
    assert (second == Operation.Equalize).mean() == pytest.approx(0.15, abs=0.02)
    assert set(plan.values[second == Operation.Rotate, 1].round(6)) == {-6.0, 6.0}
    assert (plan.boxes[first == Operation.Cutout, 1, 2] == 10).all()
    assert (plan.boxes[first != Operation.Cutout, 1, 2] == 0).all()


def test_a_plan_from_elsewhere_can_be_carried_out():
    batch, recipe = pictures(5), build_recipe("moderate")
    plan = draw_plan(recipe, torch.arange(5), key=3, size=(32, 32))
    assert torch.equal(carry_out(batch, plan, recipe), augment(batch, torch.arange(5), recipe, key=3))


def test_faulty_batches_are_refused():
    recipe, rows = build_recipe("heavy"), torch.arange(2)
    with pytest.raises(ValueError, match=r"images must be a uint8 tensor .* got torch.float32 .* before converting"):
        augment(torch.zeros(2, 3, 32, 32), rows, recipe, key=0)
    with pytest.raises(ValueError, match=r"shape \(n, 1 or 3, height, width\), got torch.uint8 of shape \(2, 32, 32"):
        augment(torch.zeros(2, 32, 32, 3, dtype=torch.uint8), rows, recipe, key=0)
    with pytest.raises(ValueError, match=r"rows must name one row per image, got 2 rows for 3 images"):
        augment(pictures(3), rows, recipe, key=0)
    with pytest.raises(ValueError, match=r"at least 8 × 8 pixels, got 7 × 9; enlarge"):
        augment(torch.zeros(2, 3, 7, 9, dtype=torch.uint8), rows, recipe, key=0)
    with pytest.raises(ValueError, match=r"padding must be less than the image's side, got 9 at 8 × 9"):
        augment(torch.zeros(2, 3, 8, 9, dtype=torch.uint8), rows, build_recipe("moderate", padding=9), key=0)
    with pytest.raises(ValueError, match=r"fill must have 1 or 1 levels for these images, got 3"):
        augment(pictures(2, 1), rows, build_recipe("heavy", fill=(1, 2, 3)), key=0)


def test_faulty_recipes_are_refused():
    with pytest.raises(ValueError, match=r"moderate, cutout, light, heavy, policy, got 'hevy'; did you mean 'heavy'\?"):
        build_recipe("hevy")
    with pytest.raises(ValueError, match=r"got 'zzz'\.$"):
        build_recipe("zzz")
    with pytest.raises(ValueError, match=r"policy must be given with augmentation 'policy' and only then, got None"):
        build_recipe("policy")
    with pytest.raises(ValueError, match=r"only then, got 'some.json' with 'heavy'"):
        build_recipe("heavy", policy="some.json")
    with pytest.raises(ValueError, match=r"steps must be 0 or more, got -1"):
        Recipe(steps=-1)
    with pytest.raises(ValueError, match=r"border must be 'fill' or 'reflect', got 'wrap'"):
        build_recipe("moderate", border="wrap")
    with pytest.raises(ValueError, match=r"crop must be 'padded' or 'resized', got 'center'"):
        build_recipe("moderate", crop="center")
    with pytest.raises(ValueError, match=r"fill must be 1 or 3 grey levels from 0 to 255, got \(300,\)"):
        build_recipe("moderate", fill=(300,))


def test_light_is_one_operation_and_a_small_square_and_cutout_the_square_alone():
    light, heavy = build_recipe("light"), build_recipe("heavy")
    assert (light.steps, heavy.steps) == (1, 2)
    assert build_recipe("cutout", flippable=False, fill=(9,)) == replace(light, steps=0, flip=False, fill=(9,))
    assert (light.cutout_for((32, 40)), heavy.cutout_for((32, 40))) == (8, 16)
    assert (light.cutout_for((64, 64)), build_recipe("heavy", cutout=5).cutout_for((64, 64))) == (16, 5)
