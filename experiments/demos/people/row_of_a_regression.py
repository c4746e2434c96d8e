# %% [markdown]
# # A patient in eleven numbers
#
# A hospital publishes a regression: ten coefficients and an intercept, learned from 442 patients. No patient is in it
# by name, and no average looks more harmless. Yet whoever knows the other patients can compute the last one, digit by
# digit.
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo row-of-a-regression`.

# %%
"""Recovering a row from a regression: exact coefficients give a patient away; rounding and noise take it back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.reconstruction.training import InformedAdversary, PerturbedOutput, Regression, blind_success
from ....audit.inference import Gain, gain
from ....mechanisms.errors import AttackError
from ....mechanisms.learning.convex import OutputPerturbation
from ...plots.style.canvas import logarithmic, style_axes, write
from ...plots.style.palette import AMBER, BLUE, MUTED, VIOLATION
from ..lecture import Lecture

Floats = NDArray[np.float64]

SEED = 2022
YEARS = 2.0
"""An age is guessed if it is right to within this."""
SHOWN = ("age", "sex", "body mass index", "blood pressure")
RIDGE = Regression("squared", strength=1.0)
DIGITS = (1, 2, 3, 4, 5, 6, 8)
NOISES = tuple(np.logspace(-7, -1, 13).tolist())
EPSILONS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
REGULARISATION = 0.01

# %% [markdown]
# ## 1. The study
#
# The diabetes study of Efron, Hastie, Johnstone and Tibshirani (2004): 442 patients, ten attributes, and how far the
# disease went in a year. Ridge regression, as scikit-learn fits it; all digits are published.


# %%
def patients() -> tuple[Floats, Floats]:
    """Attributes `(442, 10)` in their units, and progression."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def published(X: Floats, y: Floats) -> Floats:
    """Ten coefficients and the intercept, as `Ridge(alpha=1)` has them."""
    from sklearn.linear_model import Ridge

    fitted = Ridge(alpha=1.0).fit(X, y)
    return np.append(fitted.coef_, fitted.intercept_)


def others(X: Floats, y: Floats, patient: int) -> tuple[Floats, Floats]:
    """All patients but one."""
    return np.delete(X, patient, axis=0), np.delete(y, patient)


# %% [markdown]
# ## 2. The attack
#
# At the minimum the derivative is zero: what the other 441 patients and the penalty pull to one side, the last patient
# pulls to the other. That pull is the residual of the patient times (attributes, 1). The intercept's entry is the
# residual itself; divide by it, and there are the attributes. Nothing is searched, nothing is learned.


# %%
def one_patient(lecture: Lecture, patient: int = 7) -> float:
    """The largest error in an attribute of one patient."""
    X, y = patients()
    found = InformedAdversary(RIDGE, *others(X, y, patient)).recover(published(X, y))
    lecture.chapter("1. One patient")
    lecture.say(
        """
        A regression of 442 patients is published: ten coefficients, one intercept. Somebody knows all patients but one.
        The minimum has a derivative of zero, so that

          residual * (attributes, 1) of the last = - (derivative of all others and of the penalty)

        The right side can be computed. Its last entry is the residual; the others, divided by it, are the attributes:
        """
    )
    rows = [(name, f"{X[patient, j]:.6g}", f"{found.x[0, j]:.12g}") for j, name in enumerate(SHOWN)]
    rows.append(("disease progression", f"{y[patient]:g}", f"{found.y[0]:.12g}"))
    lecture.table(["attribute", "in the file", "computed from the coefficients"], rows)
    error = float(np.abs(found.x[0] - X[patient]).max())
    lecture.say(f"The largest error in any of the ten attributes is {error:.1g}.")
    return error


# %% [markdown]
# ## 3. Is it the release?
#
# Ages can be guessed. So beside the attack stands what is guessed without the coefficients (the two-year window with
# the most patients), and what the same attack finds in a regression of the others alone. Only the gain counts.


# %%
def ages(X: Floats, y: Floats, releases: Floats) -> Floats:
    """The age of each patient as recovered from each of `(m, 11)` published coefficients, `(m, 442)`."""
    adversaries = (InformedAdversary(RIDGE, *others(X, y, patient)) for patient in range(len(X)))
    return np.stack([adversary.recover(releases).x[:, 0] for adversary in adversaries], axis=1)


def ages_of_absent(X: Floats, y: Floats) -> Floats:
    """The same from a regression of the others alone; the mean of the others where nothing is left, `(442,)`."""
    found = np.empty(len(X))
    for patient in range(len(X)):
        known = others(X, y, patient)
        try:
            found[patient] = InformedAdversary(RIDGE, *known).recover(RIDGE.minimise(*known)).x[0, 0]
        except AttackError:
            found[patient] = known[0][:, 0].mean()
    return found


def blind_ages(X: Floats) -> Floats:
    """The middle of the window that holds most of the other ages."""
    middles = np.arange(15.0, 90.0, 0.5)
    inside = np.abs(X[:, 0] - middles[:, None]) <= YEARS
    counts = inside.sum(axis=1)[:, None] - inside  # without the patient who is guessed
    return np.asarray(middles[counts.argmax(axis=0)])


def everybody(lecture: Lecture) -> Gain:
    """Gain over both baselines, over all patients."""
    X, y = patients()
    guesses = {
        "from the coefficients": ages(X, y, published(X, y)[None])[0],
        "without them": blind_ages(X),
        "from those of the others alone": ages_of_absent(X, y),
    }
    right = {name: np.abs(guess - X[:, 0]) <= YEARS for name, guess in guesses.items()}
    attack, blind, absent = right.values()
    result = gain(attack, without_release=blind, without_person=absent)
    lecture.chapter("2. Everybody, and what is guessed anyway")
    lecture.say(
        f"""
        Every patient in turn is the one who is not known. How often is the age right, to within {YEARS:g} years?
        """
    )
    lecture.table(["guessed", "right"], [[name, f"{hits.mean():.1%}"] for name, hits in right.items()])
    lecture.say(
        f"""
        The gain over the better of both baselines is {result.headline.value:.1%} (with 95 % confidence at least
        {result.headline.lower:.1%}). In a regression without the patient the known records explain everything, and the
        attack says that nothing is left of another one: what it finds, it finds because the patient is in.
        """
    )
    return result


# %% [markdown]
# ## 4. Rounding
#
# Papers print three digits. Is that a protection? The error that rounding makes is multiplied by the pull of all others
# (the second derivative of the objective), and divided by the residual. Patients whom the model fits badly are easiest.


# %%
def rounded(values: Floats, digits: int) -> Floats:
    """To so many significant digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])


def rounding(lecture: Lecture) -> dict[int, float]:
    """Significant digits -> share of the patients whose age is right."""
    X, y = patients()
    coefficients = published(X, y)
    guesses = ages(X, y, np.stack([rounded(coefficients, digits) for digits in DIGITS]))
    found = dict(zip(DIGITS, np.mean(np.abs(guesses - X[:, 0]) <= YEARS, axis=1).tolist(), strict=True))
    lecture.chapter("3. Rounding")
    lecture.say("Nobody prints sixteen digits. With fewer, the ages that are right to within two years:")
    lecture.table(["significant digits", "right"], [[str(d), f"{share:.1%}"] for d, share in found.items()])
    lecture.say(
        f"""
        A blind guess is right for {float(np.mean(np.abs(blind_ages(X) - X[:, 0]) <= YEARS)):.1%}. Three digits hide
        these patients from this attack, by luck and not by a promise: rounding errors are no noise, and
        the next question about the same patients takes away more.
        """
    )
    return found


# %% [markdown]
# ## 5. Noise
#
# Noise on the coefficients has a curve that needs no simulation: the error is a ratio of two normal numbers. The points
# are the attack itself.


# %%
@dataclass(frozen=True)
class NoiseCurve:
    """Success against normal noise on each coefficient, averaged over patients.

    Args:
        noise_sd: standard deviations.
        theory, measured: share of ages that are right.
        blind: the share without the coefficients.
    """

    noise_sd: tuple[float, ...]
    theory: tuple[float, ...]
    measured: tuple[float, ...]
    blind: float


def noise(lecture: Lecture, n_patients: int = 20, n_runs: int = 100) -> NoiseCurve:
    """The analytic curve, and the attack beside it."""
    X, y = patients()
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(len(X))[:n_patients]
    theory, measured = np.zeros(len(NOISES)), np.zeros(len(NOISES))
    for patient in chosen:
        curve = PerturbedOutput(RIDGE, X, y, record=int(patient))
        adversary = InformedAdversary(RIDGE, *others(X, y, patient))
        for place, noise_sd in enumerate(NOISES):
            theory[place] += curve.success(noise_sd, tolerance=YEARS)[0] / n_patients
            noisy = curve.coefficients + noise_sd * rng.standard_normal((n_runs, len(curve.coefficients)))
            right = np.abs(adversary.recover(noisy).x[:, 0] - X[patient, 0]) <= YEARS
            measured[place] += right.mean() / n_patients
    blind = blind_success(X[:, 0], tolerance=YEARS)
    found = NoiseCurve(NOISES, tuple(theory.tolist()), tuple(measured.tolist()), blind)
    lecture.chapter("4. Noise")
    lecture.say("Normal noise on each coefficient, and how many ages are right: by the formula, and by the attack.")
    lecture.table(
        ["standard deviation of the noise", "formula", "attack"],
        [[f"{s:.0e}", f"{t:.1%}", f"{m:.1%}"] for s, t, m in zip(NOISES[::2], theory[::2], measured[::2], strict=True)],
    )
    return found


# %% [markdown]
# ## 6. Differential privacy
#
# A promise against everybody who knows everybody else: output perturbation (Chaudhuri, Monteleoni and Sarwate 2011) of
# a logistic regression, does the disease progress faster than in the median patient? Its rows are scaled to length 1
# and their last attribute is the same for all, in place of an intercept.


# %%
def scaled(X: Floats) -> tuple[Floats, float]:
    """Rows of length 1 at most, with a constant last attribute, by public ranges; and what one year of age is there."""
    low = np.array([15.0, 1.0, 15.0, 60.0, 90.0, 40.0, 20.0, 2.0, 3.0, 55.0])
    high = np.array([85.0, 2.0, 45.0, 140.0, 310.0, 250.0, 100.0, 10.0, 6.5, 130.0])
    unit = np.clip((X - low) / (high - low) * 2.0 - 1.0, -1.0, 1.0)
    size = np.sqrt(X.shape[1] + 1.0)
    return np.column_stack([unit, np.ones(len(X))]) / size, float(2.0 / (high[0] - low[0]) / size)


def private(lecture: Lecture, n_patients: int = 60) -> dict[float, tuple[float, float]]:
    """Epsilon -> share of ages that are right, and the accuracy of the model."""
    X, y = patients()
    rows, year = scaled(X)
    late = (y > np.median(y)).astype(np.float64)
    rng = np.random.default_rng([SEED, 6])
    chosen = rng.permutation(len(X))[:n_patients]
    model = Regression("logistic", strength=len(X) * REGULARISATION, intercept=False)
    found = {}
    for epsilon in EPSILONS:
        mechanism = OutputPerturbation(epsilon=epsilon, regularisation=REGULARISATION)
        released = mechanism.release((rows, late), n_patients, rng).values
        right = []
        for patient, coefficients in zip(chosen, released, strict=True):
            anchor = (rows.shape[1] - 1, float(rows[0, -1]))
            adversary = InformedAdversary(model, *others(rows, late, patient), anchor=anchor)
            right.append(abs(adversary.recover(coefficients).x[0, 0] - rows[patient, 0]) <= YEARS * year)
        accuracy = float(np.mean((released @ rows.T > 0.0) == late))
        found[epsilon] = (float(np.mean(right)), accuracy)
    lecture.chapter("5. Differential privacy")
    lecture.say(
        """
        The same attack on a logistic regression (will the disease progress faster than in the median patient?) with
        output perturbation, for a promise of epsilon:
        """
    )
    lecture.table(
        ["epsilon", "ages right", "predictions right"],
        [[f"{e:g}", f"{hits:.1%}", f"{accuracy:.1%}"] for e, (hits, accuracy) in found.items()],
    )
    lecture.say(
        """
        Long before the promise means much, at an epsilon in the hundreds, the patient is out of reach of this attack,
        and the predictions are still there. The promise covers every other attack too.
        """
    )
    return found


# %% [markdown]
# ## What to take home


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture.

    Args:
        error: largest error of an attribute of one patient.
        gain: of the attack on everybody, over both baselines.
        digits: significant digits -> share of ages that are right.
        noise: the curve.
        private: epsilon -> share of ages that are right, and accuracy.
    """

    error: float
    gain: Gain
    digits: dict[int, float]
    noise: NoiseCurve
    private: dict[float, tuple[float, float]]


def main(out: Path | None = None) -> Findings:
    """A patient in eleven numbers: exact coefficients give a row away; noise, and a promise, take it back.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(one_patient(lecture), everybody(lecture), rounding(lecture), noise(lecture), private(lecture))
    lecture.chapter("To take home")
    lecture.say(
        """
        Eleven numbers about 442 patients held each of them to the last digit. What protects a person is not that a
        release looks like an average, but noise, and a promise that says how much.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: success against noise, and against epsilon."""
    lecture.panels(
        "row-of-a-regression",
        lambda ax: _draw_noise(ax, found.noise),
        lambda ax: _draw_private(ax, found),
        title="Recovering a row from a regression",
        description="Left: share of ages recovered to within two years, against noise on the coefficients, by formula "
        "and by attack. Right: the same under output perturbation, against epsilon, with the accuracy of the model.",
    )


def _draw_noise(ax: Axes, curve: NoiseCurve) -> None:
    ax.plot(curve.noise_sd, curve.theory, color=BLUE.light, linewidth=2)
    ax.plot(curve.noise_sd, curve.measured, color=VIOLATION.light, linewidth=0, marker="o")
    ax.axhline(curve.blind, color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    logarithmic(ax.xaxis, min(curve.noise_sd) / 1.5, max(curve.noise_sd) * 1.5)
    ax.set_ylim(-0.03, 1.05)
    write(ax, 1.2e-7, 0.6, "line: formula\npoints: attack", BLUE)
    write(ax, 2e-7, curve.blind + 0.03, "blind guess", MUTED)
    style_axes(ax, title="A little noise hides a patient", x="standard deviation of the noise on a coefficient",
               y="ages right to within 2 years")  # fmt: skip


def _draw_private(ax: Axes, found: Findings) -> None:
    epsilons = list(found.private)
    ax.plot(epsilons, [a for _, a in found.private.values()], color=AMBER.light, marker="s", linewidth=2)
    ax.plot(epsilons, [s for s, _ in found.private.values()], color=VIOLATION.light, marker="o", linewidth=2)
    ax.axhline(found.noise.blind, color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    logarithmic(ax.xaxis, min(epsilons) / 1.5, max(epsilons) * 1.5)
    ax.set_ylim(-0.03, 1.05)
    write(ax, 30.0, 0.8, "predictions right", AMBER)
    write(ax, 2e4, 0.9, "ages right", VIOLATION)
    write(ax, 1.0, found.noise.blind + 0.03, "blind guess", MUTED)
    style_axes(ax, title="A promise hides the patient", x="epsilon of output perturbation",
               y="share")  # fmt: skip


# %%
if __name__ == "__main__":
    main()
