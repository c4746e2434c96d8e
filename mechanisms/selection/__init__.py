"""Selection: mechanisms that choose among finitely many candidates.

base.py           Selection: the utilities, their sensitivity, and the check of a pair
laws.py           law of the candidates with the largest scores after noise: exact probabilities
exponential.py    the exponential mechanism, and bounds on its utility
noisy_max.py      report noisy max, and permute-and-flip
gap.py            report noisy max with its gap to the next candidate
large_margin.py   the exponential mechanism on the few candidates that lead the others
peeling.py        the k best candidates in order: k rounds, or Gumbel noise once
one_shot.py       the k best candidates and their counts at a total (epsilon, delta)
quantile.py       a quantile of bounded values, by the exponential mechanism on the intervals between the values
bernoulli.py      the parameter of a coin, by the exponential mechanism on its log likelihood
random_record.py  publication of a random record
sparse_vector/    sparse vector technique: many queries against a noisy threshold
tuning/           private selection: the best of several private runs, as in hyper-parameter tuning
"""

from .bernoulli import BernoulliParameter as BernoulliParameter
from .exponential import (
    Exponential as Exponential,
    chance_of_shortfall as chance_of_shortfall,
    expected_shortfall as expected_shortfall,
    shortfall as shortfall,
)
from .gap import NoisyMaxWithGap as NoisyMaxWithGap
from .large_margin import LargeMargin as LargeMargin
from .noisy_max import PermuteAndFlip as PermuteAndFlip, ReportNoisyMax as ReportNoisyMax
from .one_shot import GumbelTopKCounts as GumbelTopKCounts, LaplaceTopK as LaplaceTopK
from .peeling import GumbelTopK as GumbelTopK, PeelingTopK as PeelingTopK
from .quantile import Quantile as Quantile
from .random_record import PublishRandomRecord as PublishRandomRecord
