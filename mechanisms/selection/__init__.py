"""Selection: mechanisms that choose among finitely many candidates.

base.py            Base class of mechanisms that choose among finitely many candidates by their utilities
bernoulli.py       Exponential mechanism for the parameter of a coin: a sample from a tempered posterior
exponential.py     Exponential mechanism: choose one of finitely many candidates, better ones with a higher probability
gap.py             Report noisy max with its gap: the best candidate and its lead, at the epsilon of the candidate only
large_margin.py    Selection with a margin: the exponential mechanism on the few candidates that lead the others
laws.py            Law of the candidates with the largest scores after noise of scale 1 is added
noisy_max.py       Report noisy max, and permute-and-flip, which has the law of report noisy max with exponential noise
one_shot.py        One-shot top k: the k best candidates and their counts, by Laplace noise, or by Gumbel and Laplace
                   noise
peeling.py         Top k in order: k rounds of the exponential mechanism, or Gumbel noise once, with the same law
quantile.py        A quantile of bounded values by the exponential mechanism, over the intervals between the values
random_record.py   Publish a random record: (0, 1/n)-DP by definition, but without any protection for the published
                   record
sparse_vector/     Sparse vector technique: many queries against a noisy threshold, with a budget only for those above
tuning/            Private selection: the best of several private runs, as in hyper-parameter tuning
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
