"""Laws of federated averaging worked out again: updates of one weight by hand, and the noise around their sum.

CLAIMS: name of the catalogue -> function that yields (mechanism, pair, p0, p1, hidden, worst).
"""

import math
from itertools import product

import numpy as np
from scipy import stats
from scipy.special import expit
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.learning.models import LogisticRegression
from dpassay.mechanisms.literature.federated import FederatedAveraging, LocalNoiseAveraging
from dpassay.mechanisms.literature.federated.broken import (
    NoiseOfMeanOnSum,
    PerRecordClipping,
    RealisedClients,
    SensitivityNotOfClip,
)

FINE, COARSE = 2e-5, 4e-3
WEIGHT = LogisticRegression(1, bias=False)
ONE = ([1.5, -0.5], [1, 0])
OTHER = ([2.0], [0])
RATE, CLIP = 3.0, 0.8


def client(records):
    x, y = records
    return np.array(x)[:, None], np.array(y)


def update(records, steps, theta=0.0):
    x, y = map(np.array, records)
    moved = theta
    for _ in range(steps):
        moved -= RATE * np.mean((expit(moved * x) - y) * x)
    return float(np.clip(moved - theta, -CLIP, CLIP))


def pairs(relation):
    """Clients that stay, and what stands in the place of the other on side 0."""
    instead = {
        "add_remove": [[]],
        "zero_out": [[("sent", 0.0)]],
        "replace_one": [[OTHER], [("sent", -5.0)]],
    }[relation]
    for others, other in product(([], [OTHER], [("sent", 0.3), OTHER]), instead):
        yield [*other, *others], [ONE, *others]
    yield [] if relation == "add_remove" else [("sent", 0.0 if relation == "zero_out" else -CLIP)], [("sent", CLIP)]


def dataset(clients):
    return [np.array([one[1]]) if one[0] == "sent" else client(one) for one in clients]


def sent(one, steps):
    return float(np.clip(one[1], -CLIP, CLIP)) if one[0] == "sent" else update(one, steps)


def averaging(make, deviation, relations=("add_remove", "zero_out", "replace_one")):
    """One round, of some steps; then two rounds of a client that sends the same in both."""
    for relation, steps, noise in product(relations, (1, 4), (0.7, 2.0)):
        options = {"clip_norm": CLIP, "local_rate": RATE, "server_rate": 1.3, "relation": relation}
        mechanism = make(WEIGHT, noise_multiplier=noise, local_steps=steps, **options)
        scale = deviation(noise) * CLIP
        for two in pairs(relation):
            pair = Neighbours(*map(dataset, two), relation)
            worst = two[1] == [("sent", CLIP)]
            totals = [sum(sent(one, steps) for one in clients) for clients in two]
            yield mechanism, pair, *(laws.normal(t / scale, 1.0) for t in totals), FINE, worst
    pair = Neighbours([], [np.array([CLIP])], "add_remove")
    if "add_remove" in relations:
        twice = make(WEIGHT, noise_multiplier=2.0, rounds=2, clip_norm=CLIP)
        one = [laws.normal(t * CLIP / scale, 1.0, laws.COARSE) for t in (0.0, 1.0)]
        yield twice, pair, *(laws.joint(law, law) for law in one), COARSE, True


def federated_averaging():
    yield from averaging(FederatedAveraging, lambda noise: noise)
    for rate, noise in ((0.5, 6.0),):
        options = {"noise_multiplier": noise, "sampling_probability": rate, "clip_norm": CLIP, "local_rate": RATE}
        mechanism = FederatedAveraging(WEIGHT, **options)
        for two in pairs("add_remove"):
            results = []
            for clients in two:
                sums = [(1.0, 0.0)]
                for one in clients:
                    sums = [(w * q, s + t) for w, s in sums for q, t in ((rate, sent(one, 1)), (1 - rate, 0.0))]
                weights, centres = zip(*sums, strict=True)
                results.append(laws.mixture(weights, [laws.normal(c / CLIP / noise, 1.0) for c in centres]))
            pair = Neighbours(*map(dataset, two), "add_remove")
            yield mechanism, pair, *results, FINE, two[1] == [("sent", CLIP)]


def local_noise():
    """Only the message of the client in which the sides differ has another law, after one round."""
    for relation, steps, noise in product(("replace_one", "zero_out"), (1, 4), (1.4, 4.0)):
        options = {"clip_norm": CLIP, "local_rate": RATE, "relation": relation}
        mechanism = LocalNoiseAveraging(WEIGHT, noise_multiplier=noise, local_steps=steps, **options)
        for two in pairs(relation):
            pair = Neighbours(*map(dataset, two), relation)
            moved = [sent(clients[0], steps) for clients in two]
            two_laws = (laws.normal(m / CLIP / noise, 1.0) for m in moved)
            yield mechanism, pair, *two_laws, FINE, two[1] == [("sent", CLIP)]


def realised_clients():
    """The radius of noise in two or four numbers, cut finely: all that the sides differ in."""
    for n, rounds in ((1, 1), (2, 1), (2, 2)):
        mechanism = RealisedClients(LogisticRegression(2, bias=False), n_clients=n, rounds=rounds)
        edges, numbers = np.linspace(0.0, 40.0, 20_001), 2 * rounds
        masses = [np.diff(np.append(stats.chi.cdf(edges * m, numbers), 1.0)) for m in (n, n + 1)]
        yield mechanism, mechanism.worst_case(), *masses, COARSE, True


def per_record():
    for n_records, noise in ((1, 2.0), (3, 2.0), (5, 3.73)):
        mechanism = PerRecordClipping(WEIGHT, n_records=n_records, noise_multiplier=noise)
        yield mechanism, mechanism.worst_case(), laws.normal(0.0, 1.0), laws.normal(n_records / noise, 1.0), FINE, True
    mechanism = PerRecordClipping(WEIGHT, clip_norm=CLIP, local_rate=RATE, n_records=9)
    moved = sum(update(([x], [y]), 1) for x, y in zip(*ONE, strict=True)) / CLIP / mechanism.noise_multiplier
    pair = Neighbours([], dataset([ONE]), "add_remove")
    yield mechanism, pair, laws.normal(0.0, 1.0), laws.normal(moved, 1.0), FINE, False


def noise_of_mean():
    yield from averaging(
        lambda *args, **options: NoiseOfMeanOnSum(*args, expected_clients=math.pi, **options),
        lambda noise: noise / math.pi,
    )


def not_of_clip():
    for relation, stated in product(("replace_one", "zero_out"), (CLIP, 0.3)):
        mechanism = SensitivityNotOfClip(
            WEIGHT, noise_multiplier=2.0, sensitivity=stated, clip_norm=CLIP, local_rate=RATE, relation=relation
        )
        for two in pairs(relation):
            pair = Neighbours(*map(dataset, two), relation)
            two_laws = (laws.normal(sent(clients[0], 1) / stated / 2.0, 1.0) for clients in two)
            yield mechanism, pair, *two_laws, FINE, two[1] == [("sent", CLIP)]


CLAIMS = {
    "broken-federated-sensitivity-not-of-clip": not_of_clip,
    "federated-averaging": federated_averaging,
    "federated-local-noise": local_noise,
    "broken-federated-realised-clients": realised_clients,
    "broken-federated-per-record-clipping": per_record,
    "broken-federated-noise-of-mean": noise_of_mean,
}
