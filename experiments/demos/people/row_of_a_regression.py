# %% [markdown]
# # A patient in eleven numbers
#
# A hospital publishes a regression: ten coefficients and an intercept, fitted to 442 patients. Such aggregates seem
# safe. However, an attacker who knows all other patients can compute the record of the last one exactly.
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo row-of-a-regression`.

# %%
"""Reconstruction of a row from regression coefficients: exact, rounded, noisy, and differentially private."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ....attacks.reconstruction.training import InformedAdversary, PerturbedOutput, Regression, prior_success
from ....audit.metrics import Gain, gain
from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import AttackError
from ....mechanisms.learning.convex import OutputPerturbation
from ...report.plots.style import AMBER, BLUE, MUTED, VIOLATION, logarithmic, style_axes, write
from ..demo import Demo

SEED = 2022
YEARS = 2.0
"""Tolerance of a correct guess of an age, in years."""
SHOWN = ("age", "sex", "body mass index", "blood pressure")
RIDGE = Regression("squared", strength=1.0)
DIGITS = (1, 2, 3, 4, 5, 6, 8)
NOISES = tuple(np.logspace(-7, -1, 13).tolist())
EPSILONS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
REGULARISATION = 0.01

# %% [markdown]
# ## 1. The study
#
# The diabetes study of Efron, Hastie, Johnstone and Tibshirani (2004): 442 patients, ten attributes, and the
# progression of the disease in a year. Ridge regression of scikit-learn, published with all digits.


# %%
def patients() -> tuple[Floats, Floats]:
    """Return attributes `(442, 10)` in their units, and progression."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def published(X: Floats, y: Floats) -> Floats:
    """Return ten coefficients and the intercept of `Ridge(alpha=1)`."""
    from sklearn.linear_model import Ridge

    fitted = Ridge(alpha=1.0).fit(X, y)
    return np.append(fitted.coef_, fitted.intercept_)


def others(X: Floats, y: Floats, patient: int) -> tuple[Floats, Floats]:
    """Return all patients except one."""
    return np.delete(X, patient, axis=0), np.delete(y, patient)


# %% [markdown]
# ## 2. The attack
#
# At the minimum the gradient is zero: the gradient of the last patient is the negative of the gradient of the other 441
# patients and the penalty. It equals the residual of the patient times (attributes, 1). The entry of the intercept is
# the residual; division by it gives the attributes. The attack needs no search and no training.


# %%
def one_patient(demo: Demo, patient: int = 7) -> float:
    """Reconstruct one patient, and return the largest error in an attribute."""
    X, y = patients()
    record = InformedAdversary(RIDGE, *others(X, y, patient)).recover(published(X, y))
    demo.chapter("1. One patient")
    demo.say(
        """
        A regression of 442 patients is published: ten coefficients, one intercept. An attacker knows all patients
        except one. The gradient at the minimum is zero, so that

          residual * (attributes, 1) of the last = - (gradient of all others and of the penalty)

        The right side is known. Its last entry is the residual; the others, divided by it, are the attributes:
        """
    )
    rows = [(name, f"{X[patient, j]:.6g}", f"{record.x[0, j]:.12g}") for j, name in enumerate(SHOWN)]
    rows.append(("disease progression", f"{y[patient]:g}", f"{record.y[0]:.12g}"))
    demo.table(["attribute", "in the file", "computed from the coefficients"], rows)
    error = float(np.abs(record.x[0] - X[patient]).max())
    demo.say(f"The largest error in any of the ten attributes is {error:.1g}.")
    return error


# %% [markdown]
# ## 3. Baselines
#
# Ages can be guessed. Therefore the attack is compared with a guess without the coefficients (the window of two years
# around an age with the most patients), and with the same attack on a regression without the patient. Only the gain
# counts.


# %%
def ages(X: Floats, y: Floats, releases: Floats) -> Floats:
    """Return the reconstructed age of each patient, `(m, 442)`, from each of `(m, 11)` published coefficients."""
    adversaries = (InformedAdversary(RIDGE, *others(X, y, patient)) for patient in range(len(X)))
    return np.stack([adversary.recover(releases).x[:, 0] for adversary in adversaries], axis=1)


def ages_of_absent(X: Floats, y: Floats) -> Floats:
    """Return the reconstructed ages from regressions without the patient, `(442,)`; else the mean of the others."""
    guesses = np.empty(len(X))
    for patient in range(len(X)):
        known = others(X, y, patient)
        try:
            guesses[patient] = InformedAdversary(RIDGE, *known).recover(RIDGE.minimise(*known)).x[0, 0]
        except AttackError:
            guesses[patient] = known[0][:, 0].mean()
    return guesses


def blind_ages(X: Floats) -> Floats:
    """Return the middle of the window that contains most of the other ages, for each patient."""
    middles = np.arange(15.0, 90.0, 0.5)
    inside = np.abs(X[:, 0] - middles[:, None]) <= YEARS
    counts = inside.sum(axis=1)[:, None] - inside  # without the target
    return np.asarray(middles[counts.argmax(axis=0)])


def all_people(demo: Demo) -> Gain:
    """Return the gain over both baselines, over all patients."""
    X, y = patients()
    guesses = {
        "from the coefficients": ages(X, y, published(X, y)[None])[0],
        "without the release": blind_ages(X),
        "from a regression without the patient": ages_of_absent(X, y),
    }
    right = {name: np.abs(guess - X[:, 0]) <= YEARS for name, guess in guesses.items()}
    attack, blind, absent = right.values()
    result = gain(attack, without_release=blind, without_person=absent)
    demo.chapter("2. All patients, and baselines")
    demo.say(
        f"""
        Every patient in turn is the unknown one. How often is the guessed age correct within {YEARS:g} years?
        """
    )
    demo.table(["guess", "correct"], [[name, f"{hits.mean():.1%}"] for name, hits in right.items()])
    demo.say(
        f"""
        The gain over the better of both baselines is {result.headline.value:.1%} (with 95 % confidence at least
        {result.headline.lower:.1%}). In a regression without the patient, the known records explain the coefficients
        completely, and the attack detects that no record is missing: its success is due to the patient's record.
        """
    )
    return result


# %% [markdown]
# ## 4. Rounding
#
# Papers print three digits. Does this protect? The rounding error is multiplied by the second derivative of the
# objective, and divided by the residual. Patients with large residuals are the most vulnerable.


# %%
def rounded(values: Floats, digits: int) -> Floats:
    """Round to significant digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])


def rounding(demo: Demo) -> dict[int, float]:
    """Return significant digits -> share of the patients whose age is correct."""
    X, y = patients()
    coefficients = published(X, y)
    guesses = ages(X, y, np.stack([rounded(coefficients, digits) for digits in DIGITS]))
    shares = dict(zip(DIGITS, np.mean(np.abs(guesses - X[:, 0]) <= YEARS, axis=1).tolist(), strict=True))
    demo.chapter("3. Rounding")
    demo.say("Publications print fewer digits. Share of ages that are correct within two years:")
    demo.table(["significant digits", "correct"], [[str(d), f"{share:.1%}"] for d, share in shares.items()])
    demo.say(
        f"""
        A guess without the release is correct for {float(np.mean(np.abs(blind_ages(X) - X[:, 0]) <= YEARS)):.1%}.
        Three digits protect these patients from this attack, but without a guarantee: rounding errors are not
        random noise, and further releases about the same patients leak more.
        """
    )
    return shares


# %% [markdown]
# ## 5. Noise
#
# For noise on the coefficients, the success rate has an analytic formula: the error is a ratio of two normal variables.
# The points are measured with the attack.


# %%
@dataclass(frozen=True)
class NoiseCurve:
    """Success rate against normal noise on each coefficient, averaged over patients.

    Args:
        noise_sd: standard deviations of the noise.
        theory, measured: shares of correct ages.
        blind: share of correct ages without the coefficients.
    """

    noise_sd: tuple[float, ...]
    theory: tuple[float, ...]
    measured: tuple[float, ...]
    blind: float


def noise(demo: Demo, n_patients: int = 20, n_runs: int = 100) -> NoiseCurve:
    """Return the analytic curve, and the measured success of the attack."""
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
    blind = prior_success(X[:, 0], tolerance=YEARS)
    curve_of_noise = NoiseCurve(NOISES, tuple(theory.tolist()), tuple(measured.tolist()), blind)
    demo.chapter("4. Noise")
    demo.say("Normal noise on each coefficient, and the share of correct ages: by the formula, and by the attack.")
    demo.table(
        ["standard deviation of the noise", "formula", "attack"],
        [[f"{s:.0e}", f"{t:.1%}", f"{m:.1%}"] for s, t, m in zip(NOISES[::2], theory[::2], measured[::2], strict=True)],
    )
    return curve_of_noise


# %% [markdown]
# ## 6. Differential privacy
#
# A guarantee against attackers who know all other patients: output perturbation (Chaudhuri, Monteleoni and Sarwate
# 2011) of a logistic regression that predicts whether the disease progresses faster than in the median patient. Its
# rows are scaled to norm 1 at most, and their last attribute is constant, in place of an intercept.


# %%
def scaled(X: Floats) -> tuple[Floats, float]:
    """Return rows of norm 1 at most, scaled by public ranges, with a constant attribute, and the scale of one year."""
    low = np.array([15.0, 1.0, 15.0, 60.0, 90.0, 40.0, 20.0, 2.0, 3.0, 55.0])
    high = np.array([85.0, 2.0, 45.0, 140.0, 310.0, 250.0, 100.0, 10.0, 6.5, 130.0])
    unit = np.clip((X - low) / (high - low) * 2.0 - 1.0, -1.0, 1.0)
    size = np.sqrt(X.shape[1] + 1.0)
    return np.column_stack([unit, np.ones(len(X))]) / size, float(2.0 / (high[0] - low[0]) / size)


def private(demo: Demo, n_patients: int = 60) -> dict[float, tuple[float, float]]:
    """Return epsilon -> share of correct ages, and the accuracy of the model."""
    X, y = patients()
    rows, year = scaled(X)
    late = (y > np.median(y)).astype(np.float64)
    rng = np.random.default_rng([SEED, 6])
    chosen = rng.permutation(len(X))[:n_patients]
    model = Regression("logistic", strength=len(X) * REGULARISATION, intercept=False)
    by_epsilon = {}
    for epsilon in EPSILONS:
        mechanism = OutputPerturbation(epsilon=epsilon, regularisation=REGULARISATION)
        released = mechanism.release((rows, late), n_patients, rng).values
        right = []
        for patient, coefficients in zip(chosen, released, strict=True):
            anchor = (rows.shape[1] - 1, float(rows[0, -1]))
            adversary = InformedAdversary(model, *others(rows, late, patient), anchor=anchor)
            right.append(abs(adversary.recover(coefficients).x[0, 0] - rows[patient, 0]) <= YEARS * year)
        accuracy = float(np.mean((released @ rows.T > 0.0) == late))
        by_epsilon[epsilon] = (float(np.mean(right)), accuracy)
    demo.chapter("5. Differential privacy")
    demo.say(
        """
        The same attack on a logistic regression (does the disease progress faster than in the median patient?) with
        output perturbation, by epsilon:
        """
    )
    demo.table(
        ["epsilon", "correct ages", "accuracy"],
        [[f"{e:g}", f"{hits:.1%}", f"{accuracy:.1%}"] for e, (hits, accuracy) in by_epsilon.items()],
    )
    demo.say(
        """
        Even at an epsilon in the hundreds, which is a weak guarantee, this attack fails, and the predictions are still
        useful. The guarantee also covers every other attack.
        """
    )
    return by_epsilon


# %% [markdown]
# ## Conclusion


# %%
@dataclass(frozen=True)
class RowOfARegressionFindings:
    """Results of the demo.

    Args:
        error: largest error of an attribute of one patient.
        gain: gain of the attack over both baselines, over all patients.
        digits: significant digits -> share of correct ages.
        noise: success against noise.
        private: epsilon -> share of correct ages, and accuracy.
    """

    error: float
    gain: Gain
    digits: dict[int, float]
    noise: NoiseCurve
    private: dict[float, tuple[float, float]]


def main(out: Path | None = None) -> RowOfARegressionFindings:
    """Run the demo: reconstruction of a row from regression coefficients: exact, rounded, noisy and private.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = RowOfARegressionFindings(one_patient(demo), all_people(demo), rounding(demo), noise(demo), private(demo))
    demo.chapter("Conclusion")
    demo.say(
        """
        Eleven numbers about 442 patients revealed each of them exactly. Aggregation does not protect a person; noise
        with a privacy guarantee does.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: RowOfARegressionFindings) -> None:
    """Draw two panels: success against noise, and against epsilon."""
    demo.panels(
        "row-of-a-regression",
        lambda ax: _draw_noise(ax, findings.noise),
        lambda ax: _draw_private(ax, findings),
        title="Reconstruction of a row from a regression",
        description="Left: share of ages that are correct within two years, against noise on the coefficients, by "
        "formula and by attack. Right: the same under output perturbation, against epsilon, with the accuracy of the "
        "model.",
    )


def _draw_noise(ax: Axes, curve: NoiseCurve) -> None:
    ax.plot(curve.noise_sd, curve.theory, color=BLUE.light, linewidth=2)
    ax.plot(curve.noise_sd, curve.measured, color=VIOLATION.light, linewidth=0, marker="o")
    ax.axhline(curve.blind, color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    logarithmic(ax.xaxis, min(curve.noise_sd) / 1.5, max(curve.noise_sd) * 1.5)
    ax.set_ylim(-0.03, 1.05)
    write(ax, 1.2e-7, 0.6, "line: formula\npoints: attack", BLUE)
    write(ax, 2e-7, curve.blind + 0.03, "guess without the release", MUTED)
    style_axes(ax, title="Small noise protects a patient", x="standard deviation of the noise on a coefficient",
               y="share of ages correct within 2 years")  # fmt: skip


def _draw_private(ax: Axes, findings: RowOfARegressionFindings) -> None:
    epsilons = list(findings.private)
    ax.plot(epsilons, [a for _, a in findings.private.values()], color=AMBER.light, marker="s", linewidth=2)
    ax.plot(epsilons, [s for s, _ in findings.private.values()], color=VIOLATION.light, marker="o", linewidth=2)
    ax.axhline(findings.noise.blind, color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    logarithmic(ax.xaxis, min(epsilons) / 1.5, max(epsilons) * 1.5)
    ax.set_ylim(-0.03, 1.05)
    write(ax, 30.0, 0.8, "accuracy", AMBER)
    write(ax, 2e4, 0.9, "correct ages", VIOLATION)
    write(ax, 1.0, findings.noise.blind + 0.03, "guess without the release", MUTED)
    style_axes(ax, title="Output perturbation protects the patient", x="epsilon of output perturbation",
               y="share")  # fmt: skip


# %%
if __name__ == "__main__":
    main()
