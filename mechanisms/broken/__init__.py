"""Mechanisms that are wrong on purpose: each claims one epsilon, has another, and says why.

Broken trainers are in `dpassay.mechanisms.broken.dp_sgd`.

accounting.py            wrong on purpose: an odometer of spent budget that forgets a logarithm
biased_coin.py           wrong on purpose: randomised response with a biased coin
composed/                composition and amplification that are wrong on purpose
deniability/             plausible deniability that is wrong on purpose: one slip each
dp_sgd/                  DP-SGD that is wrong on purpose: one slip each, the claim that it makes
ensembles/               votes of teachers that one record moves by more than it should
federated/               federated averaging that is wrong on purpose: one slip each
floats/                  noise that is right in real numbers and wrong in floats
end_point_slip.py        wrong on purpose: an accountant of shuffling that looks at one end of an interval twice
laplace_scale.py         wrong on purpose: Laplace noise whose scale is upside down
laplace_sensitivity.py   wrong on purpose: Laplace noise that forgets the sensitivity
private_encoder.py       wrong on purpose: a representation that counts as public, and has seen the private records
release/                 answers to many queries, wrong on purpose
statistics/              statistics that are wrong on purpose: sums, means, histograms, moments
zero_sensitivity.py      wrong on purpose: counters of which one that never moves takes the noise from all
selection/               private selection that is wrong on purpose: one slip each, the claim that it makes
synthesis/               synthetic data: wrong choices of what is measured, records that are given away
text/                    private language models that are wrong on purpose
weights/                 answers from one distribution that are wrong on purpose: one slip each
tuning/                  hyper-parameters whose choice is not paid for
sparse_vector/           sparse vector techniques that are wrong on purpose: one slip each
"""

from .biased_coin import BiasedCoinResponse as BiasedCoinResponse
from .laplace_scale import LaplaceInverseScale as LaplaceInverseScale
from .laplace_sensitivity import LaplaceForgottenSensitivity as LaplaceForgottenSensitivity
