"""Canaries: records that are made, or chosen, to be detected. They turn a dataset into a pair of neighbours.

base.py        Base class of canaries: read this first
catalogue.py   Names of the canaries. A new canary is one class and one line here
documents.py   Canary documents for assistants with retrieval or memory: each has a secret, and a question for it
examples.py    Canaries that are examples: for an adversary who sees the final model or its predictions
gradients.py   Canaries that are gradient records: for an adversary who inserts gradients and sees the steps or the last
               iterate
initial.py     Worst-case initial parameters: the canary is all that is left to learn
records.py     Canaries for any training loop, as arrays or texts: made before training, and tossed with `Coins`
"""

from typing import TYPE_CHECKING

from ...mechanisms.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .base import Canary as Canary
    from .documents import (
        CanaryDocument as CanaryDocument,
        CanaryDocuments as CanaryDocuments,
        secret_documents as secret_documents,
    )
    from .examples import Blank as Blank, ClipBKD as ClipBKD, Mislabelled as Mislabelled, Natural as Natural
    from .gradients import (
        Dirac as Dirac,
        OrthogonalDirection as OrthogonalDirection,
        RandomDirection as RandomDirection,
        with_dead_features as with_dead_features,
    )
    from .initial import worst_case_initial as worst_case_initial
    from .records import (
        CanaryRecords as CanaryRecords,
        inserted_tokens as inserted_tokens,
        mislabelled as mislabelled,
        out_of_distribution as out_of_distribution,
        random_records as random_records,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)
