"""DP-SGD, for many runs at once.

accounting.py          Guarantees of noisy gradient steps, for each sampling scheme, and the noise that a target epsilon
                       needs
adaptive_clipping.py   DP-SGD whose clipping norm follows a quantile of the gradient norms, by a noisy count of
                       unclipped gradients
adversaries.py         Attack interface of DP-SGD: see `dpassay.mechanisms.learning.dp_sgd.capabilities`
broken/                Intentionally broken DP-SGD: each claims one epsilon and has another
capabilities.py        Capabilities that attacks require of a trainer, one protocol each; read `learning.base` first
catalogue.py           Models, samplings, noises, schedules and optimisers by name: add a new one as one class and one
                       line here
directions.py          Checks of a pair for DP-SGD, and the direction of its difference
fine_tuning.py         Private fine-tuning: a head trained by DP-SGD on features learned from public records
group_privacy.py       DP-SGD audited with pairs that differ in a group of records, such as k copies of a canary
mechanism.py           DP-SGD: stochastic gradient descent on clipped gradients with Gaussian noise, thousands of runs
                       at once
noise/                 Noise of the training steps, independent or correlated
observation_law.py     Law of the observed noisy sums of gradient records, for the likelihood-ratio attack, and the
                       curves of a view
optimizers.py          Optimisers other than gradient descent: how a noisy sum moves the parameters
sampling/              Sampling schemes: the records of each training step, for many runs at once
steps.py               Parts of a step of DP-SGD: the learning rate, the clipping of gradients, and the noise
training.py            DP-SGD, many independent runs at once
"""

from typing import TYPE_CHECKING

from ...core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .adaptive_clipping import AdaptiveClippingDPSGD as AdaptiveClippingDPSGD
    from .group_privacy import GroupPrivacy as GroupPrivacy
    from .mechanism import DPSGD as DPSGD
    from .noise import (
        BandedNoise as BandedNoise,
        BufferedToeplitzNoise as BufferedToeplitzNoise,
        IndependentNoise as IndependentNoise,
        StepNoise as StepNoise,
        TreeNoise as TreeNoise,
    )
    from .optimizers import Adam as Adam
    from .sampling.base import Sampling as Sampling
    from .sampling.cyclic_poisson import CyclicPoisson as CyclicPoisson
    from .sampling.epochs import CyclicBatches as CyclicBatches, ShuffledEpochs as ShuffledEpochs
    from .sampling.fixed_size import FixedSizeSampling as FixedSizeSampling
    from .sampling.full_batch import FullBatch as FullBatch
    from .sampling.poisson import PoissonSampling as PoissonSampling
    from .sampling.random_allocation import RandomAllocation as RandomAllocation
    from .sampling.truncated_poisson import TruncatedPoisson as TruncatedPoisson
    from .steps import (
        ConstantSchedule as ConstantSchedule,
        Cosine as Cosine,
        InverseSquareRoot as InverseSquareRoot,
        Schedule as Schedule,
        StepDecay as StepDecay,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)
