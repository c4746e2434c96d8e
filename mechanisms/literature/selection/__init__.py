"""Selection from the literature: top k, gaps, margins, quantiles, and mechanisms that draw a record or a parameter.

bernoulli.py       Exponential mechanism for the parameter of a coin: a sample from a tempered posterior
gap.py             Report noisy max with its gap: the best candidate and its lead, at the epsilon of the candidate only
large_margin.py    Selection with a margin: the exponential mechanism on the few candidates that lead the others
one_shot.py        One-shot top k: the k best candidates and their counts, by Laplace noise, or by Gumbel and Laplace
                   noise
peeling.py         Top k in order: k rounds of the exponential mechanism, or Gumbel noise once, with the same law
quantile.py        A quantile of bounded values by the exponential mechanism, over the intervals between the values
random_record.py   Publish a random record: (0, 1/n)-DP by definition, but without any protection for the published
                   record
"""

from .bernoulli import BernoulliParameter as BernoulliParameter
from .gap import NoisyMaxWithGap as NoisyMaxWithGap
from .large_margin import LargeMargin as LargeMargin
from .one_shot import GumbelTopKCounts as GumbelTopKCounts, LaplaceTopK as LaplaceTopK
from .peeling import GumbelTopK as GumbelTopK, PeelingTopK as PeelingTopK
from .quantile import Quantile as Quantile
from .random_record import PublishRandomRecord as PublishRandomRecord
