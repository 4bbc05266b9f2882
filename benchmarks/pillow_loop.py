"""A plan carried out image by image with Pillow, as image folders are usually augmented: the thing to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from curriculum_labeling.vision.operations import Operation
from curriculum_labeling.vision.plan import Plan

Pixels = NDArray[np.uint8]


def carry_out(images: Pixels, plan: Plan, fill: int = 0) -> Pixels:
    """A batch of shape (n, H, W, 3) or (n, H, W) after everything the plan says; crops see black."""
    results = np.empty_like(images)
    operations, values, boxes = plan.operations.tolist(), plan.values.tolist(), plan.boxes.tolist()
    shifts = zip(plan.shift_x.tolist(), plan.shift_y.tolist(), plan.flip.tolist(), strict=True)
    for row, (shift_x, shift_y, flip) in enumerate(shifts):
        image = Image.fromarray(images[row])
        steps = list(zip(operations[row], values[row], strict=True))
        for operation, value in sorted(steps, key=lambda step: step[0] >= Operation.Rotate):
            image = change(image, operation, value, fill)
        width, height = image.size
        image = image.crop((shift_x, shift_y, shift_x + width, shift_y + height))
        if flip:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        for x, y, side in boxes[row]:
            if side:
                half = side // 2
                box = (max(0, x - half), max(0, y - half), min(width, x + half), min(height, y + half))
                image.paste(_color(image, fill), box)
        results[row] = np.asarray(image)
    return results


def change(image: Any, operation: int, value: float, fill: int = 0) -> Any:
    """One operation by Pillow's own functions."""
    if operation in _PLAIN:
        return _PLAIN[Operation(operation)](image)
    if operation in _ENHANCE:
        return _ENHANCE[Operation(operation)](image).enhance(value)
    if operation == Operation.Solarize:
        return ImageOps.solarize(image, value)  # type: ignore[arg-type]
    if operation == Operation.Posterize:
        return ImageOps.posterize(image, int(value))
    if operation == Operation.Rotate:
        return image.rotate(value, fillcolor=_color(image, fill))
    if operation in _MATRIX:
        matrix = _MATRIX[Operation(operation)](value)
        return image.transform(image.size, Image.Transform.AFFINE, matrix, fillcolor=_color(image, fill))
    return image


def _color(image: Any, fill: int) -> Any:
    return fill if image.mode == "L" else (fill,) * 3


_PLAIN: dict[Operation, Any] = {
    Operation.Invert: ImageOps.invert,
    Operation.AutoContrast: ImageOps.autocontrast,
    Operation.Equalize: ImageOps.equalize,
}
_ENHANCE: dict[Operation, Any] = {
    Operation.Contrast: ImageEnhance.Contrast,
    Operation.Brightness: ImageEnhance.Brightness,
    Operation.Color: ImageEnhance.Color,
    Operation.Sharpness: ImageEnhance.Sharpness,
}
_MATRIX: dict[Operation, Any] = {
    Operation.TranslateX: lambda value: (1, 0, value, 0, 1, 0),
    Operation.TranslateY: lambda value: (1, 0, 0, 0, 1, value),
    Operation.ShearX: lambda value: (1, value, 0, 0, 1, 0),
    Operation.ShearY: lambda value: (1, 0, 0, value, 1, 0),
}
