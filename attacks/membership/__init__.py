"""Membership inference: was this record in the training set? Higher score = it was.

base.py                MembershipAttack: read this first
shadows.py             Shadows, the matrix that every attack reads; `dpassay.audit.games.train_shadows` makes it
queries.py             a batch of shadow models: trained, and asked about records
signals.py             loss, confidence, entropies, margin, rescaled logit
catalogue.py           all of them by name

What a score is worth, and when it says something about epsilon: `dpassay.audit.metrics.membership`.
base_mia.py          BASE: the loss of the target compared with the mean likelihood under the references
calibration.py       Difficulty calibration: a signal of the target minus its typical value for models without the reco
classifier.py        Shadow models with an attack classifier: predictions on members are learned from other models
entropy.py           Entropy and modified entropy, with a threshold for each class learned on the other models
exposure.py          Exposure: the rank of a record among candidates, in bits
gradients.py         White-box attacks: the norm of the gradient, and the inner product of the gradient with the steps
leave_one_out.py     Means, variances and medians over the other models, for all targets at once
lira.py              LiRA: the likelihood ratio of two normal laws of a signal, fitted for each record
population.py        Attack-P: comparison of the record with other records under the same model
quantile.py          Quantile regression: the expected signal of a similar record that is not a member
reference.py         Attack-R: comparison of the target model with other models on the same record
rmia.py              RMIA: the likelihood ratio of the record against each of many other records
threshold.py         Attacks without reference models: a threshold on a signal of the target model
synthetic_data/      Was this record in the data that a synthetic table was made from? Higher score = it was
tracing/             Tracing: was this person in the study whose means were published? Higher score = the person was in
"""

from .base import MembershipAttack as MembershipAttack
from .shadows import Shadows as Shadows, draw_inclusion as draw_inclusion
