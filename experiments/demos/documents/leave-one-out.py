# %% [markdown]
# # Does a model that generalises also keep its training records private?
#
# A model generalises if its error on new records is that on its training records. Then, it seems, it cannot remember
# them. We train models on 200 random records of 1,000, and half of the models also on one outlier. Three learners have
# the same error: a support vector machine, a logistic regression, and the same regression with noise for ε = 1 at
# δ = 10⁻⁵. What does each reveal about the average record, and about the outlier?

# %%
import numpy as np
from sklearn.svm import SVC

SEED = 74
N_MODELS, POOL, N_RECORDS = 300, 1_000, 200
rng = np.random.default_rng(SEED)


def records(n):
    """Return n records of two classes, a Gaussian each."""
    y = rng.integers(0, 2, size=n)
    return 0.4 * rng.normal(size=(n, 2)) + np.outer(2 * y - 1, [0.6, 0.0]), y


(X, y), (X_new, y_new) = records(POOL), records(1_500)
X, y = np.vstack([X, [0.0, 2.5]]), np.append(y, 1)  # the last record is the outlier
inclusion = np.zeros((N_MODELS, POOL + 1), dtype=bool)
for rows in inclusion:
    rows[rng.choice(POOL, N_RECORDS, replace=False)] = True
inclusion[1::2, -1] = True  # every second model is trained on the outlier too
machines = [SVC(C=1.0, gamma=2.0).fit(X[rows], y[rows]) for rows in inclusion]

# %% tags=["hide-input"]
from dpassay.experiments.report.plots.style import AMBER, BLUE, MUTED, VIOLATION, panels, style_axes, write


def draw_machine(ax):
    machine, rows = machines[1], inclusion[1, :-1]
    for label, colour in ((0, AMBER), (1, BLUE)):
        ax.scatter(*X[:-1][rows & (y[:-1] == label)].T, s=10, color=colour.light)
    circles = {"facecolors": "none", "edgecolors": MUTED.light, "linewidths": 0.8}
    ax.scatter(*machine.support_vectors_.T, s=36, **circles)
    ax.scatter(*X[-1], s=36, color=VIOLATION.light, marker="D")
    write(ax, 0.15, 2.5, "outlier", VIOLATION)
    grid = np.linspace(-2.2, 2.2, 120), np.linspace(-1.6, 3.1, 120)
    values = machine.decision_function(np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)).reshape(120, 120)
    ax.contour(*grid, values, levels=[0.0], colors=[MUTED.light], linewidths=1.2)
    style_axes(ax, title="One machine. Circles: its support vectors", x="first feature", y="second feature")


panels(
    draw_machine,
    alt="Training records of two classes, the support vectors of one machine, which are some of these records and the "
    "outlier far above them, and the line that separates the classes.",
    size=(6.4, 4.6),
)

# %% [markdown]
# A support vector machine is published as a list of weighted training records. Here it bends its boundary around the
# outlier, which lies far from all others.

# %%
with_outlier = [any(np.array_equal(v, X[-1]) for v in m.support_vectors_) for m in machines]
print(f"machines trained on the outlier that contain it: {sum(with_outlier[1::2])} of {N_MODELS // 2}")
print(f"machines trained without it that contain it: {sum(with_outlier[::2])} of {N_MODELS // 2}")

# %% [markdown]
# ## Three learners
#
# An adversary sees one number: the margin of a record, positive if the model classifies it correctly. The advantage is
# TPR − FPR of the guess "was in the training set", with a threshold that is chosen on half of the models and tested on
# the other half. Lower bounds on ε come from the margins of the outlier.

# %%
import pandas as pd

from dpassay.audit import PairScores, audit_scores
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.accounting import calibrate_noise
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.dp_sgd.sampling.full_batch import FullBatch
from dpassay.mechanisms.learning.models.architectures import LogisticRegression


def regressions(noise_multiplier):
    """Return the trainer, and the decision values of its models on the pool and on new records."""
    sampling = FullBatch(expected_batch_size=N_RECORDS)
    learner = DPSGD(
        LogisticRegression(2), steps=30, noise_multiplier=noise_multiplier, sampling=sampling, learning_rate=2.0
    )
    models = learner.fit_subsets(TrainingData(X, y), inclusion, rng)
    return learner, [models.outputs(each)[:, :, 0].astype(np.float64) for each in (X, X_new)]


noise = calibrate_noise(epsilon=1.0, delta=1e-5, sampling="full-batch", steps=30)
_, plain = regressions(0.0)
private_learner, private = regressions(noise)
decisions = {
    "support vectors": [np.array([m.decision_function(each) for m in machines]) for each in (X, X_new)],
    "regression": plain,
    "private regression": private,
}


def advantage(out, in_):
    """Return TPR - FPR on the second half of the scores, for the threshold that is best on the first half."""
    (out, test_out), (in_, test_in) = (np.array_split(side, 2) for side in (out, in_))
    thresholds = np.unique(np.quantile(np.concatenate([out, in_]), np.linspace(0.0, 1.0, 201)))
    best = max(thresholds, key=lambda t: (in_ >= t).mean() - (out >= t).mean())
    return float((test_in >= best).mean() - (test_out >= best).mean())


claim, audits, table = private_learner.guarantee(), {}, {}
for name, (on_pool, on_new) in decisions.items():
    margins, new = on_pool * (2 * y - 1), on_new * (2 * y_new - 1)
    own, out, in_ = margins[::2][inclusion[::2]], margins[::2, -1], margins[1::2, -1]
    audits[name] = audit_scores(PairScores(out, in_), claim=claim, delta=1e-5, confidence=0.99, seed=SEED)
    table[name] = {
        "training error": (own <= 0.0).mean(),
        "error": (new <= 0.0).mean(),
        "advantage, average": advantage(new[::2].ravel(), own),
        "advantage, outlier": advantage(out, in_),
        "ε at least": audits[name].bound.epsilon,
    }
pd.DataFrame(table).T.rename_axis("learner").map("{:.3f}".format).assign(
    verdict=[str(result.verdict) for result in audits.values()]
)

# %% [markdown]
# ## The surprise
#
# All three learners generalise: the errors on training records and on new records nearly agree. The gap of the two is
# an average over records, and so is the advantage on the average record, which is small. Yet the machine reveals the
# outlier in every run. Generalisation is about the average record, and differential privacy about each one, also the
# one that is least like the others. It costs little here: the private regression is nearly as good as the other two.
#
# ## What one would wrongly conclude
#
# - "A small advantage means a private model." It means that the average record is hard to find. Look at the worst
#   record, and at a low false positive rate.
# - "The regression leaks little about the outlier, so it is private as well." It has no noise. An adversary who knows
#   the other 200 records computes the model with and without the outlier, and compares. The adversary here knows the
#   margin only. A low bound, and whatever verdict stands in that row, is a statement about this adversary.
#
# ## Exercise
#
# Take another record for the outlier: one of the 1,000, say the first, with `X[-1] = X[0]` and `y[-1] = y[0]`. Predict
# the advantage of the adversary on it, for the support vector machine.

# %% [markdown] tags=["answer"]
# Small: a record with neighbours of its class changes little, and a copy of it is in one training set in five anyway.
# The same learner is private for this record and not for the outlier. A guarantee that holds for most people is not
# one that a person can rely on.

# %% tags=["answer"]
X_like = np.vstack([X[:-1], X[0]])
y_like = np.append(y[:-1], y[0])
like = [SVC(C=1.0, gamma=2.0).fit(X_like[rows], y_like[rows]) for rows in inclusion]
scores = np.array([m.decision_function(X[:1])[0] for m in like]) * (2 * y[0] - 1)
ordinary = advantage(scores[::2], scores[1::2])
print(f"advantage on the first record: {ordinary:.3f} (standard error at most {np.sqrt(0.5 / 75):.2f})")

# %% [markdown]
# ## See also
#
# - `dpassay demo dp-sgd`: private training, and attacks on it.
# - `dpassay demo row-of-a-regression`: the adversary who knows all other records.
# - `docs/explanation/limits.md`: what a lower bound does not show.
#
# ## Run it
#
# `dpassay demo leave-one-out` takes about 6 s.
