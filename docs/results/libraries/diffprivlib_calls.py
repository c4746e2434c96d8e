"""Calls of diffprivlib."""

import numpy as np
from diffprivlib import models, tools


def state(rng):
    return np.random.RandomState(rng.integers(2**31))


def nanmean(dataset, rng):
    return tools.nanmean(dataset, epsilon=1, bounds=(0, 1), random_state=state(rng))


def total(dataset, rng):
    return tools.sum(dataset, epsilon=1, bounds=(0, 1), random_state=state(rng))


def histogram(dataset, rng):
    return tools.histogram(dataset, epsilon=1, bins=4, range=(0, 1), random_state=state(rng))[0]


def regression(dataset, rng):
    model = models.LinearRegression(
        epsilon=1, fit_intercept=False, bounds_X=(0, 1), bounds_y=(0, 1), random_state=state(rng)
    )
    return model.fit(dataset[:, :1], dataset[:, 1]).coef_
