"""Oriented gradients: what turning an image does to them, and what they need."""

import numpy as np
import pytest

from dpassay.experiments.data.images import oriented_gradients
from dpassay.mechanisms.core.errors import ParameterError

IMAGES = np.random.default_rng(0).random((3, 28, 28))


def test_a_quarter_turn_moves_cells_and_directions_and_nothing_else():
    found = oriented_gradients(IMAGES.reshape(3, -1)).reshape(3, 8, 7, 7)
    turned = oriented_gradients(np.rot90(IMAGES, axes=(1, 2)).reshape(3, -1)).reshape(3, 8, 7, 7)
    np.testing.assert_allclose(turned, np.roll(np.rot90(found, axes=(2, 3)), -2, axis=1), atol=1e-5)


def test_brightness_and_contrast_change_nothing_and_rows_have_norm_one():
    rows = IMAGES.reshape(3, -1)
    np.testing.assert_allclose(oriented_gradients(rows), oriented_gradients(0.3 * rows + 0.5), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(oriented_gradients(rows), axis=1), 1.0, atol=1e-5)
    assert not oriented_gradients(np.ones((2, 784))).any()


@pytest.mark.parametrize(
    ("images", "options", "argument"),
    [
        (np.ones((2, 783)), {}, "X"),
        (np.ones(784), {}, "X"),
        (np.ones((2, 784)), {"cells": 5}, "X"),
        (np.ones((2, 784)), {"cells": 0}, "cells"),
        (np.ones((2, 784)), {"directions": 1}, "directions"),
    ],
)
def test_wrong_images_and_options_are_named(images, options, argument):
    with pytest.raises(ParameterError, match=argument):
        oriented_gradients(images, **options)
