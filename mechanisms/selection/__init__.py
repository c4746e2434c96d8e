"""Mechanisms that choose among finitely many candidates.

base.py               what they share: utilities, their sensitivity, a factor of two
laws.py               which score is the largest after noise: exact probabilities
exponential.py        the exponential mechanism: choose one of finitely many candidates, good ones more often
noisy_max.py          report noisy max: add noise to every utility, and tell which is largest
gap.py                report noisy max with its gap to the next
large_margin.py       the exponential mechanism over the few candidates that lead the rest
permute_and_flip.py   visit the candidates in random order, and take the first whose coin says so
peeling.py            the k best candidates in order: k rounds, or Gumbel noise once
one_shot.py           the k best candidates at a total (epsilon, delta)
bernoulli.py          the exponential mechanism for the parameter of a coin
random_record.py      publish a random record
utility.py            how good a candidate the exponential mechanism finds
quantile.py          A quantile of bounded values by the exponential mechanism, over the intervals between the values
sparse_vector/       Sparse vector technique: many queries against a noisy threshold, paid for by the few that are abov
tuning/              Choosing the best of several private runs, as when hyper-parameters are tuned, and what that costs
"""

from .bernoulli import BernoulliParameter as BernoulliParameter
from .exponential import Exponential as Exponential
from .gap import NoisyMaxWithGap as NoisyMaxWithGap
from .large_margin import LargeMargin as LargeMargin
from .noisy_max import ReportNoisyMax as ReportNoisyMax
from .one_shot import GumbelTopKCounts as GumbelTopKCounts, LaplaceTopK as LaplaceTopK
from .peeling import GumbelTopK as GumbelTopK, PeelingTopK as PeelingTopK
from .permute_and_flip import PermuteAndFlip as PermuteAndFlip
from .random_record import PublishRandomRecord as PublishRandomRecord
from .utility import (
    chance_of_shortfall as chance_of_shortfall,
    expected_shortfall as expected_shortfall,
    shortfall as shortfall,
)
