"""Reconstruction of bits from noisy subset counts: least squares against the linear programme of L1 decoding."""

from __future__ import annotations

import numpy as np
from benchmarks.measure import interleaved, ratio, report, seconds

from dpassay.attacks.literature.answers import BoxedLeastSquares, GaussianLikelihood, L1Decoding
from dpassay.mechanisms.literature.counts import random_subsets


def answered(n: int, m: int, noise: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return public queries, and noisy answers of each run."""
    rng = np.random.default_rng(0)
    queries = random_subsets(n, m)
    bits = rng.integers(0, 2, (runs, n))
    return queries, bits @ queries.T + noise * rng.standard_normal((runs, m))


def main() -> None:
    for n, m in ((100, 500), (150, 2950)):
        queries, answers = answered(n, m, 4.0, 2)
        fast, slow, likely = (
            lambda queries=queries, answers=answers, decoder=decoder: decoder.decode(queries, answers)
            for decoder in (BoxedLeastSquares(), L1Decoding(), GaussianLikelihood(noise=4.0))
        )
        squares, l1, likelihood = interleaved(fast, slow, likely, repeats=3)
        report(f"least squares / L1 decoding, {n} bits, {m} queries", ratio(squares, l1), 0.2)
        report(f"Gaussian likelihood / L1 decoding, {n} bits, {m} queries", ratio(likelihood, l1), 0.2)
    queries, answers = answered(150, 3000, 4.0, 1)
    report(
        "L1 decoding, 150 bits, 3,000 queries", seconds(lambda: L1Decoding().decode(queries, answers)), 10.0, unit="s"
    )


if __name__ == "__main__":
    main()
