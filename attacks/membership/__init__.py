"""Membership inference: was this record in the training set? Higher score = it was.

answer_signals.py      Signals of the answers of an assistant: higher = more like an answer of an assistant that has the
                       document
base.py                Interface of membership attacks: read this first
catalogue.py           Names of the membership attacks. A new attack is one file and one line here; `dpassay list
                       membership` shows them
comparisons.py         Comparisons of the signal of a record: with other records under the same model, or with other
                       models on the record
consistency.py         Tests whether memberships, outputs and labels of models have one order, from the data alone
designs.py             Designs of reference models: what the references of a target saw, and the attacks that can use
                       them
gradients.py           White-box attacks: the norm of the gradient, and the inner product of the gradient with the steps
                       of training
label_only.py          Label-only membership: models that answer with a class and nothing else
learned.py             Attacks that learn from predictions or features
likelihood_ratios.py   Likelihood ratios of a record, from reference models
memorization.py        Memorised texts: discoverable extraction, and the exposure of a rank
outputs.py             Shadow models of other code: the outputs of their models on the records, checked, as `Shadows`
queries.py             Batches of shadow models: training on rows of the inclusion matrix, and predictions on records
ranges.py              Several queries of a record: noisy or transformed copies, asked of each model
released_texts.py      Log probabilities of texts under a model of a released text set: what somebody sees who has the
                       release alone
scored_texts.py        Texts with the log probabilities of their tokens under a language model, checked
shadows.py             Shadow models: many models of random halves of the same records, and their signals on each record
signals.py             Signals: one number per model and record, computed from the predicted probabilities. Higher =
                       more like a member
thresholds.py          A threshold on a signal of the target model: the same for all records, or one for each class
token_padding.py       Padding of the log probabilities of tokens: positions that hold no token
token_signals.py       Signals of texts from the log probabilities of their tokens under a language model. Higher = more
                       like a member

For the metrics, and their relation to epsilon: `dpassay.audit.metrics.membership`.
"""

from .base import MembershipAttack as MembershipAttack
from .label_only import LabelOnlyLearner as LabelOnlyLearner
from .outputs import shadows_of as shadows_of
from .ranges import RangeMembership as RangeMembership
from .scored_texts import ScoredTexts as ScoredTexts, token_moments as token_moments
from .shadows import Shadows as Shadows, draw_inclusion as draw_inclusion
