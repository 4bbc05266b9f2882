"""What augmentation consists of: the settings behind the names none, moderate, cutout, light, heavy and policy.

*Moderate* is a random crop from the padded image and, where it makes sense, a flip. *Heavy* puts two
random operations before it and Cutout after it (RA of the paper); *light* and *cutout*, for short
trainings, have a square half as wide, after one operation or none. *Policy* is heavy with sub-policies
from a file in place of random operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from curriculum_labeling.vision.policy import Policy, load_policy

Border = Literal["fill", "reflect"]
Crop = Literal["padded", "resized"]
NAMES = ("none", "moderate", "cutout", "light", "heavy", "policy")
# Operations of the short recipes, and the side of their square.
SHORT_STEPS, SHORT_CUTOUT = {"cutout": 0, "light": 1}, 0.25


@dataclass(frozen=True)
class Recipe:
    """How images are augmented; make one with `build_recipe`.

    Parameters
    ----------
    steps : int
        Operations per image before the crop: 0 for moderate, 2 for heavy.
    padding : int, optional
        Pixels the image is padded by before the crop; None for an eighth of its shorter side (4 at 32).
    cutout : int or float, optional
        Side of the Cutout square in pixels, or below 1 as a part of the image's shorter side; 0 for
        none, None for half the shorter side (16 at 32).
    flip : bool
        Whether half of the images are mirrored left to right; not for digits or text.
    border : "fill" or "reflect"
        What the crop sees beyond the image: the fill color, as in the authors' code, or its reflection.
    fill : tuple of int
        Grey level, or one per channel, for whatever lies outside an image or under Cutout. The
        training set's mean color makes it zero after standardization.
    policy : Policy, optional
        Sub-policies in place of random operations.
    crop : "padded" or "resized"
        A crop of the image's size from the padded image; or, for training on large photos, one of 8 to
        100 % of its area and a ratio of sides from 3:4 to 4:3, enlarged to the image's size. Images
        are then interpolated bilinearly, operations included, and padding and border mean nothing.
    """

    steps: int = 0
    padding: int | None = None
    cutout: float | None = 0
    flip: bool = True
    border: Border = "fill"
    fill: tuple[int, ...] = (0,)
    policy: Policy | None = None
    crop: Crop = "padded"

    def __post_init__(self) -> None:
        for name in ("steps", "padding", "cutout"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} must be 0 or more, got {value}.")
        if self.border not in ("fill", "reflect"):
            raise ValueError(f"border must be 'fill' or 'reflect', got {self.border!r}.")
        if self.crop not in ("padded", "resized"):
            raise ValueError(f"crop must be 'padded' or 'resized', got {self.crop!r}.")
        if len(self.fill) not in (1, 3) or not all(0 <= level <= 255 for level in self.fill):
            raise ValueError(f"fill must be 1 or 3 grey levels from 0 to 255, got {self.fill}.")

    def padding_for(self, size: tuple[int, int]) -> int:
        """Padding in pixels at this (height, width)."""
        if self.crop == "resized":
            return 0
        return round(min(size) / 8) if self.padding is None else self.padding

    def cutout_for(self, size: tuple[int, int]) -> int:
        """Side of the Cutout square in pixels at this (height, width)."""
        side = 0.5 if self.cutout is None else self.cutout
        return round(side * min(size)) if side < 1 else round(side)

    @property
    def changes_nothing(self) -> bool:
        """Whether images come out as they went in."""
        keeps_size = self.crop == "padded"
        return keeps_size and not (self.steps or self.flip or self.padding != 0 or self.cutout != 0)


def build_recipe(
    name: str,
    *,
    flippable: bool = True,
    padding: int | None = None,
    border: Border = "fill",
    fill: tuple[int, ...] = (0,),
    steps: int = 2,
    cutout: float | None = None,
    policy: str | Path | Policy | None = None,
    crop: Crop = "padded",
) -> Recipe:
    """The recipe of this name; `steps` and `cutout` are for heavy, `policy` is a file or policy for "policy"."""
    if name not in NAMES:
        close = get_close_matches(name, NAMES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ValueError(f"augmentation must be one of {', '.join(NAMES)}, got {name!r}{hint}")
    if (name == "policy") != (policy is not None):
        raise ValueError(
            f"policy must be given with augmentation 'policy' and only then, got {policy!r} with {name!r}."
        )
    if name == "none":
        return Recipe(padding=0, cutout=0, flip=False)
    if name == "moderate":
        return Recipe(padding=padding, flip=flippable, border=border, fill=fill, crop=crop)
    if name in SHORT_STEPS:
        return Recipe(SHORT_STEPS[name], padding, SHORT_CUTOUT, flippable, border, fill, crop=crop)
    sub_policies = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    steps = sub_policies.operations.shape[1] if sub_policies else steps
    return Recipe(steps, padding, cutout, flippable, border, fill, sub_policies, crop)
