"""Metrics of membership attacks on shadow models, which `dpassay.audit.games` trains.

evaluate.py              Evaluation of membership attacks: many attacks on the same shadow models
feature_baseline.py      The feature baseline: how well the features of records reveal their membership without the
                         audited model
given_model.py           A given model: whether its outputs tell the records that it was trained on from others
language_model_text.py   The text of a language model: the verdict on its training first, then the attacks, exposure and
                         extraction
language_models.py       Membership, exposure and extraction of texts under one language model; with coins, a lower
                         bound on epsilon
models.py                Metrics of each model, and a test whether one of them leaks more or less than the others
persons.py               Scores of people: the scores of all records of a person, which are in a model together, as one
records.py               Tests of single records and of groups of records for exposure
result.py                Results of membership attacks: frozen, complete, with a versioned JSON form, and without a
                         bound on epsilon
roc.py                   AUC and true positive rates of membership scores, with intervals
scorer.py                Membership leakage as a scorer of scikit-learn: cross validation and searches of
                         hyperparameters read it
text.py                  Membership results as plain text
"""

from .evaluate import evaluate as evaluate
from .given_model import audit_model as audit_model
from .language_models import LanguageModelResult as LanguageModelResult, evaluate_texts as evaluate_texts
from .result import MembershipResult as MembershipResult
from .scorer import membership_scorer as membership_scorer
