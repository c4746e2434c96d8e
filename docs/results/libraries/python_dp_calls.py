"""Calls of python-dp, whose noise comes from the operating system: no seed repeats them."""

from pydp.algorithms.laplacian import BoundedMean, BoundedSum, Count


def count(dataset, rng):
    return Count(epsilon=1, dtype="int").quick_result([1] * len(dataset))


def total(dataset, rng):
    return BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="float").quick_result([float(x) for x in dataset])


def mean(dataset, rng):
    return BoundedMean(epsilon=1, lower_bound=0, upper_bound=1, dtype="float").quick_result([float(x) for x in dataset])
