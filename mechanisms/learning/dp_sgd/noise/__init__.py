"""Noise of the training steps, independent or correlated.

Their names are in `dpassay.mechanisms.learning.dp_sgd.catalogue`.

banded.py              Noise of a banded matrix: the noise of a step depends on the last few steps only
base.py                Interface of the noise of the training steps: read this first
buffered_toeplitz.py   Noise of a buffered linear Toeplitz (BLT) matrix: any number of steps with a few buffers of
                       memory
tree.py                Noise of tree aggregation: noise on the nodes of a binary tree over the steps
"""

from typing import TYPE_CHECKING

from ....core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .banded import BandedNoise as BandedNoise
    from .base import CorrelatedNoise as CorrelatedNoise, IndependentNoise as IndependentNoise, StepNoise as StepNoise
    from .buffered_toeplitz import BufferedToeplitzNoise as BufferedToeplitzNoise
    from .tree import TreeNoise as TreeNoise
else:
    __getattr__, __dir__ = lazy_names(__name__)
