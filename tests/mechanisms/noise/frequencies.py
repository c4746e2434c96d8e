"""Chi-square test of the frequencies of outputs."""

import numpy as np
from scipy import stats


def p_value_of(values: np.ndarray, outputs: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the p-value of the hypothesis that `values` are these outputs, numbers or rows, with these probabilities.

    Outputs that are expected at most 5 times, and all that are not listed, are one class, which must stay empty if it
    has no probability.
    """
    size, common = len(values), probabilities * len(values) > 5
    axes = tuple(range(1, np.ndim(values)))
    counts = np.array([np.count_nonzero((values == output).all(axis=axes)) for output in outputs[common]])
    rest, expected_rest = size - counts.sum(), size * (1.0 - probabilities[common].sum())
    assert rest == 0 or expected_rest > 1e-9 * size
    if expected_rest > 1.0:
        counts, expected = np.append(counts, rest), np.append(size * probabilities[common], expected_rest)
    else:
        expected = probabilities[common] / probabilities[common].sum() * counts.sum()
    return float(stats.chisquare(counts, expected).pvalue)
