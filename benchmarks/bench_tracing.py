"""Tracing of 10,000 people with a million published means, against a loop over people in float64.

The people are 1.25 GB of packed bits, generated outside the timing; one byte per attribute would be 10 GB. The loop
processes 40 people, and its time is scaled up.
"""

from __future__ import annotations

import time

import numpy as np
from benchmarks.measure import ratio, report, seconds

from dpassay.attacks.literature.tracing import InnerProduct, PackedPeople

ATTRIBUTES, PEOPLE, LOOPED = 1_000_000, 10_000, 40


def made() -> tuple[PackedPeople, np.ndarray, np.ndarray]:
    """Return people, frequencies (1/4, 1/2 and 3/4, in blocks of eight), and means of the first hundred people."""
    rng = np.random.default_rng(0)
    bits = np.empty((ATTRIBUTES // 8, PEOPLE), dtype=np.uint8)
    step = 12_500
    for i, start in enumerate(range(0, len(bits), step)):
        part = bits[start : start + step]
        part[:] = np.frombuffer(rng.bytes(part.size), dtype=np.uint8).reshape(part.shape)
        if i % 3:
            other = np.frombuffer(rng.bytes(part.size), dtype=np.uint8).reshape(part.shape)
            part[:] = part & other if i % 3 == 1 else part | other
    kind = np.repeat(np.arange(len(bits)) // step % 3, 8)
    frequencies = np.array([0.5, 0.25, 0.75])[kind]
    study = np.unpackbits(np.ascontiguousarray(bits[:, :100].T), axis=1)
    return PackedPeople(bits, ATTRIBUTES), frequencies, study.mean(axis=0)


def loop(rows: np.ndarray, p: np.ndarray, q: np.ndarray) -> list[float]:
    """Return the score of one person after the other, by the formula."""
    norm = np.sqrt((p * (1.0 - p) * (q - p) ** 2).sum())
    return [float(((y - p) * (q - p)).sum() / norm) for y in rows]


def main() -> None:
    people, p, q = made()
    rows = np.unpackbits(np.ascontiguousarray(people.bits[:, :LOOPED].T), axis=1)
    scores = InnerProduct().score(q, people, p)
    np.testing.assert_allclose(scores[:LOOPED], loop(rows, p, q), rtol=1e-8)
    ours, naive, cpu = [], [], []
    for _ in range(2):
        start = time.process_time()
        ours.append(seconds(lambda: InnerProduct().score(q, people, p)))
        cpu.append(time.process_time() - start)
        naive.append(seconds(lambda: loop(rows, p, q)) * PEOPLE / LOOPED)
    what = f"trace {PEOPLE:,} people by {ATTRIBUTES:,} means"
    report(f"{what} / a loop in float64", ratio(ours, naive), 0.1)
    report(what, min(ours), 10.0, unit="s")
    report(f"{what}, CPU time", min(cpu), 10.0, unit="s")
    report("members above the 99.9 % quantile of non-members, of 100", float((scores[:100] > 3.09).sum()), 100.0,
           unit="", smaller_is_better=False)  # fmt: skip


if __name__ == "__main__":
    main()
