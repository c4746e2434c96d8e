# %% [markdown]
# # Can eleven regression coefficients contain the record of a patient?
#
# The diabetes study of Efron, Hastie, Johnstone and Tibshirani (2004): 442 patients, ten attributes, and the
# progression of the disease. A hospital publishes a ridge regression: ten coefficients and one intercept. An attacker
# knows all patients but one. How many digits of the coefficients may be printed before the last patient is revealed?

# %%
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from dpassay.attacks.literature.training import InformedAdversary, Regression

SEED = 2022
YEARS, DIGITS = 2.0, (1, 2, 3, 4, 5, 6, 8)  # a guessed age is right within two years
X, y = load_diabetes(return_X_y=True, scaled=False)
fitted = Ridge(alpha=1.0).fit(X, y)
published = np.append(fitted.coef_, fitted.intercept_)
rounded = np.array([[float(f"{value:.{digits}g}") for value in published] for digits in DIGITS])
model, everybody = Regression("squared", strength=1.0), np.arange(len(X))
adversaries = [InformedAdversary(model, np.delete(X, i, axis=0), np.delete(y, i)) for i in everybody]
ages = np.stack([adversary.recover(rounded).x[:, 0] for adversary in adversaries], axis=1)
by_digits = dict(zip(DIGITS, (np.abs(ages - X[:, 0]) <= YEARS).mean(axis=1), strict=True))


def guess_blindly(known):
    """Return the middle of the window of four years that contains most of the known ages."""
    middles = np.arange(15.0, 90.0, 0.5)
    return middles[(np.abs(known - middles[:, None]) <= YEARS).sum(axis=1).argmax()]


blind = np.array([guess_blindly(np.delete(X[:, 0], i)) for i in everybody])
blind_right = np.abs(blind - X[:, 0]) <= YEARS

# %% tags=["hide-input"]
from dpassay.experiments.report.plots.style import BLUE, MUTED, panels, style_axes, write


def draw_digits(ax):
    ax.plot(by_digits.keys(), by_digits.values(), color=BLUE.light, marker="o", linewidth=2)
    ax.axhline(blind_right.mean(), color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    write(ax, 5.2, blind_right.mean() + 0.03, "guess without the regression", MUTED)
    ax.set_ylim(0.0, 1.05)
    style_axes(ax, title="Every patient in turn is unknown", x="printed digits", y="share of ages right to 2 years")


panels(
    draw_digits,
    alt="Share of patients whose age is right within two years, against the printed digits of the coefficients: about "
    "one in eight with up to three digits, nearly all with five digits or more.",
    size=(7.0, 4.2),
)

# %% [markdown]
# Each point says for how many patients the attacker, who knows the other 441, computes the right age. With five digits
# it is nearly everybody. With three or fewer the attack is worse than a guess: it ignores what is known about ages.
#
# ## The attack
#
# At the minimum the gradient is zero. So the part of the last patient is minus that of all others and of the penalty,
# which the attacker can compute:
#
#     residual · (attributes, 1) = −(gradient of the others and of the penalty)
#
# The last entry is the residual of the patient, and the other entries, divided by it, are the attributes.

# %%
import pandas as pd

patient = 7
record = adversaries[patient].recover(published)
columns = ("age", "sex", "body mass index", "blood pressure")
facts = {name: (f"{X[patient, j]:g}", f"{record.x[0, j]:.10g}") for j, name in enumerate(columns)}
facts["progression"] = (f"{y[patient]:g}", f"{record.y[0]:.10g}")
print(f"Largest error of the ten attributes: {np.abs(record.x[0] - X[patient]).max():.0e}")
pd.DataFrame(facts, index=["in the file", "computed"]).T.rename_axis("attribute")

# %% [markdown]
# ## The surprise
#
# No search, no training: two sums and a division give the record to the last digit. But an age can also be guessed.
# Only the gain over two baselines counts: a guess without the regression, and the same attack on a regression to which
# the patient did not contribute. There the attack finds that nobody is missing, and names the mean age.

# %%
from dpassay.audit.metrics import gain
from dpassay.mechanisms.core.errors import AttackError


def age_from_the_others(i):
    """Return the age that the attack finds in a regression without patient i."""
    known = np.delete(X, i, axis=0), np.delete(y, i)
    try:
        return adversaries[i].recover(model.minimise(*known)).x[0, 0]
    except AttackError:  # the known patients explain the coefficients
        return known[0][:, 0].mean()


absent_right = np.abs(np.array([age_from_the_others(i) for i in everybody]) - X[:, 0]) <= YEARS
all_right = np.abs([a.recover(published).x[0, 0] for a in adversaries] - X[:, 0]) <= YEARS
result = gain(all_right, without_release=blind_right, without_person=absent_right, confidence=0.99)
result.plot()

# %% [markdown]
# ## Rounding, and noise
#
# An error in a coefficient is multiplied by the second derivative of the objective and divided by the residual of the
# patient. For normal noise on the coefficients the share of right ages has a formula.

# %%
from dpassay.attacks.literature.training import PerturbedOutput

rng = np.random.default_rng(SEED)
noises, chosen = np.logspace(-7, -1, 7), rng.permutation(len(X))[:20]
formula, measured = np.zeros(7), np.zeros(7)
for i in chosen:
    curve = PerturbedOutput(model, X, y, record=int(i))
    for place, sd in enumerate(noises):
        noisy = curve.coefficients + sd * rng.standard_normal((100, 11))
        formula[place] += curve.success(sd, tolerance=YEARS)[0] / 20
        measured[place] += (np.abs(adversaries[i].recover(noisy).x[:, 0] - X[i, 0]) <= YEARS).mean() / 20
print(f"Right ages of 20 patients, 100 runs each. Guess without the regression: {blind_right.mean():.1%} of all")
pd.DataFrame(
    {"formula": formula, "attack": measured}, index=pd.Index([f"{sd:.0e}" for sd in noises], name="noise")
).map("{:.1%}".format)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "Three digits are enough protection." They stop this attack on this study. Rounding is no random noise, and another
#   table about the same patients can undo it.
# - "At small ε the attack is right less often than a guess, so the release misleads the attacker." With much noise the
#   ratio of two noisy numbers is hardly related to the patient, and the plain attack believes it. Nobody has to: below,
#   a careful attacker adds noise of the same law five times more, and takes the guess if the age moves by ten years.
#
# The release is now differentially private, against attackers who know all others: output perturbation (Chaudhuri,
# Monteleoni and Sarwate, 2011) of a logistic regression for fast progression. Rows are scaled to norm 1 by public
# ranges.

# %%
from dpassay.mechanisms.literature.convex import OutputPerturbation

low = np.array([15.0, 1.0, 15.0, 60.0, 90.0, 40.0, 20.0, 2.0, 3.0, 55.0])
high = np.array([85.0, 2.0, 45.0, 140.0, 310.0, 250.0, 100.0, 10.0, 6.5, 130.0])
unit = np.clip(2.0 * (X - low) / (high - low) - 1.0, -1.0, 1.0)
rows = np.column_stack([unit, np.ones(len(X))]) / np.sqrt(11.0)  # the last entry, a constant, is known
fast = (y > np.median(y)).astype(np.float64)
classifier = Regression("logistic", strength=0.01 * len(X), intercept=False)
anchor = (10, float(rows[0, 10]))
informed = [
    InformedAdversary(classifier, np.delete(rows, i, axis=0), np.delete(fast, i), anchor=anchor) for i in everybody
]
model_without_noise = classifier.minimise(rows, fast)
private = {}
for epsilon in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5):
    mechanism = OutputPerturbation(epsilon=epsilon, regularisation=0.01)
    released, fresh = (mechanism.release((rows, fast), n, rng).values for n in (len(X), 5))
    shifts = np.vstack([np.zeros(11), fresh - model_without_noise])
    found = np.array([a.recover(c + shifts).x[:, 0] for a, c in zip(informed, released, strict=True)])
    found = low[0] + (found * np.sqrt(11.0) + 1.0) / 2.0 * (high[0] - low[0])  # in years again
    stable = np.abs(found - found[:, :1]).max(axis=1) <= 10.0
    plain, careful = (np.abs(g - X[:, 0]) <= YEARS for g in (found[:, 0], np.where(stable, found[:, 0], blind)))
    gained = gain(careful, without_release=blind_right, confidence=0.99)
    private[epsilon] = plain.mean(), gained, float(((released @ rows.T > 0.0) == fast).mean())
pd.DataFrame(
    {
        "plain": [f"{plain:.1%}" for plain, *_ in private.values()],
        "careful": [f"{g.attack.value:.1%}" for _, g, _ in private.values()],
        "gain over the guess, points (99%)": [
            f"{100 * g.headline.value:+.1f} ({100 * g.headline.lower:+.1f} to {100 * g.headline.upper:+.1f})"
            for _, g, _ in private.values()
        ],
        "accuracy": [f"{accuracy:.1%}" for *_, accuracy in private.values()],
    },
    index=pd.Index([f"{epsilon:g}" for epsilon in private], name="ε"),
)

# %% [markdown]
# The attack fails long before ε is small, and the predictions remain useful. An ε in the hundreds is no protection that
# one could promise, though: it is this attack that fails, and the guarantee is about all attacks.
#
# ## Exercise
#
# With five digits most ages are right, and some are not. Which patients are protected by rounding: those who are like
# the others, or those whom the regression predicts well? Compare the sizes of their residuals.

# %% [markdown] tags=["answer"]
# Those whom the regression predicts well. Their gradient is nearly zero: they contribute almost nothing, and the error
# is divided by a small residual. The patients who do not fit the model are the ones it reveals.

# %% tags=["answer"]
residuals = np.abs(y - fitted.predict(X))
right = np.abs(ages[DIGITS.index(5)] - X[:, 0]) <= YEARS
print(f"median residual of the {right.sum()} revealed patients: {np.median(residuals[right]):.1f}")
print(f"median residual of the {(~right).sum()} others: {np.median(residuals[~right]):.1f}")

# %% [markdown]
# ## See also
#
# - `dpassay demo leave-one-out`: records that a model reveals because they are unlike the others.
# - `dpassay demo column-from-counts`: reconstruction by an attacker who knows nobody.
# - `docs/attacks/training-data.md`: reconstruction of training data, from models and from gradients.
#
# ## Run it
#
# `dpassay demo row-of-a-regression` takes about 5 s.
