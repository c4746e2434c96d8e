# %% [markdown]
# # Can the means of a study reveal that you took part in it?
#
# A study of n = 100 patients publishes, for each of d = 5,000 genetic variants, the share of patients who have it. No
# names, no rows. You know your own row, as anybody does who sent a sample to a genotyping service, and the frequency of
# each variant in the population is public. Three forms of the same table: exact, rounded to 10%, and with Gaussian
# noise that is calibrated to the number of columns.

# %%
import numpy as np

from dpassay.attacks.literature.tracing import InnerProduct, expected_z, power, trace
from dpassay.experiments.report.plots.style import panels, series_colour, style_axes
from dpassay.mechanisms.literature.studies import ColumnMeans, Genomes, Study, Uniform

SEED = 2008
N_PATIENTS, N_COLUMNS, N_OTHERS = 100, 5_000, 1_000
population = Uniform(low=0.05, high=0.95, seed=SEED)
rng = np.random.default_rng(SEED)
people = population.people(N_PATIENTS + N_OTHERS, N_COLUMNS, rng)
frequencies = population.frequencies(N_COLUMNS)
releases = {
    "exact": {"noise": "none"},
    "rounded": {"noise": "none", "decimals": 1},
    "private": {"noise": "gaussian", "noise_multiplier": 1.0},
}
traced = {}
for name, options in releases.items():
    means = ColumnMeans(N_PATIENTS, N_COLUMNS, **options).release(people[:N_PATIENTS], 1, rng).values[0]
    traced[name] = trace(means, people, frequencies=frequencies)


# %% tags=["hide-input"]
def draw_scores(ax):
    bins = np.linspace(-5.0, 12.0, 52)
    for place, result in enumerate(traced.values()):
        sides = {"non-members": result.scores[N_PATIENTS:], "patients": result.scores[:N_PATIENTS]}
        for i, (side, scores) in enumerate(sides.items()):
            heights = np.histogram(scores, bins, density=True)[0]
            label = side if place == 0 else None
            ax.stairs(2 - place + 1.6 * heights, bins, baseline=2 - place, fill=True, alpha=0.6,
                      color=series_colour(1 - i).light, label=label)  # fmt: skip
    ax.set_yticks([2, 1, 0], list(traced))
    style_axes(ax, title="Scores of 100 patients and 1,000 others", x="score, in standard deviations", y="means")


panels(
    draw_scores,
    alt="Histograms of the scores of patients and of non-members. With exact and with rounded means the patients "
    "are far to the right of the others; with private means both lie on each other.",
    size=(8.0, 4.4),
)

# %% [markdown]
# The score of a row y is its inner product with the deviation of the means q from the frequencies p, in standard
# deviations of a person who is not in the study (Dwork, Smith, Steinke, Ullman and Vadhan, 2015):
#
#     T = Σ (y − p) (q − p) / √( Σ p (1 − p) (q − p)² )
#
# An attacker with a list of 1,100 rows can test all of them, with Holm's correction for the number of tests: the
# probability that any non-member is named is then at most 0.1%.

# %%
import pandas as pd

named = {name: result.holm() <= 0.001 for name, result in traced.items()}
pd.DataFrame(
    {
        "your score": [f"{result.scores[0]:.1f}" for result in traced.values()],
        "your p-value": [f"{result.p_values[0]:.1g}" for result in traced.values()],
        "patients named": [f"{mask[:N_PATIENTS].sum()} of {N_PATIENTS}" for mask in named.values()],
        "non-members named": [f"{mask[N_PATIENTS:].sum()} of {N_OTHERS:,}" for mask in named.values()],
    },
    index=pd.Index(traced, name="means"),
)

# %% [markdown]
# ## The surprise
#
# Your row moves each mean by a hundredth at most, less than its random variation. But it moves all 5,000 means. With
# exact means your score is on average z = √(d / n) standard deviations above that of a non-member, whatever the
# frequencies: about 7 here. Rounding errors of 5,000 columns average out like any noise.
#
# Noise protects if it grows with d. Its standard deviation here is √d / n: one standard deviation of noise for the
# distance by which a row can move all means. This is Gaussian differential privacy with μ = 1. It allows z = μ, and the
# variation of the other patients halves this: z is at most μ / 2, for every d.

# %%
sizes = (50, 500, 5_000)
n_studies = 200
z_theory, z_measured = {}, {}
for name, options in releases.items():
    for d in sizes:
        means, p = ColumnMeans(N_PATIENTS, d, **options), population.frequencies(d)
        noise = means.standard_deviation
        statistic = InnerProduct(weights="best", n_records=N_PATIENTS, standard_deviation=noise)
        you = population.people(1, d, rng)
        studies = (Study(p), Study(p, you[0]))
        out, in_ = (statistic.score(means.release(s, n_studies, rng).values, you, p).mean() for s in studies)
        z_measured[name, d], z_theory[name, d] = float(in_ - out), expected_z(p, N_PATIENTS, noise)
print(f"z, measured on {n_studies} studies with you and {n_studies} without, and by the formula:")
columns = {
    f"{name}{', formula' * is_theory}": [f"{(z_theory if is_theory else z_measured)[name, d]:.2f}" for d in sizes]
    for name in releases
    for is_theory in (False, True)
}
pd.DataFrame(columns, index=pd.Index([f"{d:,}" for d in sizes], name="columns d"))

# %% [markdown]
# What is μ = 1 as an epsilon? There is no pure ε, as Gaussian noise has none. At δ = 10⁻⁵ it is ε = 4.38. The exact and
# the rounded means have no ε at any δ below 1. An audit tests the claim itself, on 600 studies with you and
# 600 without.

# %%
from dpassay.audit import audit

claim = ColumnMeans(N_PATIENTS, N_COLUMNS, **releases["private"]).guarantee()
print(f"mu = {claim.mu:g} is epsilon = {claim.epsilon(1e-5):.3f} at delta = 1e-5\n")
audits = {}
for name, options in releases.items():
    mechanism = ColumnMeans(N_PATIENTS, N_COLUMNS, population=population, **options)
    audits[name] = audit(mechanism, claim=claim, attack="tracing", trials=600, delta=1e-5, confidence=0.99, seed=SEED)
pd.DataFrame(
    {
        "lower bound on ε": [f"{result.bound.epsilon:.2f}" for result in audits.values()],
        "verdict on μ = 1": [str(result.verdict) for result in audits.values()],
    },
    index=pd.Index(audits, name="means"),
)

# %% [markdown]
# ## What one would wrongly conclude
#
# - "ε = 4.38 is large, so the private means leak." The guarantee is for the worst case: an attacker who knows all other
#   patients. This attacker does not, and is right about a few patients in a thousand at a false positive rate of one
#   in a thousand.
# - "A p-value of 10⁻⁶ is proof." It assumes that columns are independent. Neighbouring variants are inherited together,
#   and the formula then accuses people who were not in the study. A comparison with other people of the same
#   population is right for any dependence of the columns.

# %%
print(f"true positive rate at a false positive rate of 0.001, private: {power(z_theory['private', 5_000], 0.001):.4f}")
genomes = Genomes(block=50, linkage=0.98, population=population)
rows = genomes.people(N_PATIENTS + 3_000, N_COLUMNS, rng)
study, strangers, reference = np.split(rows, [N_PATIENTS, N_PATIENTS + 2_000])
released, p = study.mean(axis=0), genomes.frequencies(N_COLUMNS)
false_positives = {
    source: float((trace(released, strangers, frequencies=p, **options).p_values <= 0.01).mean())
    for source, options in (("formula", {"null": "normal"}), ("reference sample", {"reference": reference}))
}
for source, share in false_positives.items():
    print(f"linked columns, p-value by {source}: {share:.1%} of non-members have p <= 1%")

# %% [markdown]
# ## Exercise
#
# The noise was calibrated to 1,250 columns, for a first version of the study. In the end it publishes the means of
# 5,000 columns, with the old noise of standard deviation √1,250 / 100. Predict μ, and whether the audit refutes μ = 1.

# %% [markdown] tags=["answer"]
# μ = √d / (n s) = 2: four times as many columns double μ. The audit does not refute μ = 1, as this attacker reaches at
# most z = μ / 2 = 1. A claim can be wrong although this attack does not show it: `consistent` is no proof.

# %% tags=["answer"]
wide = ColumnMeans(N_PATIENTS, N_COLUMNS, scale=np.sqrt(1_250) / N_PATIENTS, population=population)
reused = audit(wide, claim=claim, attack="tracing", trials=600, delta=1e-5, confidence=0.99, seed=SEED)
print(f"mu = {wide.guarantee().mu:g}; bound {reused.bound.epsilon:.2f}, verdict on mu = 1: {reused.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo column-from-counts`: counts that reveal a whole column.
# - `dpassay run tracing`: bounds on ε for these releases, from 50 to 20,000 columns.
# - `docs/attacks/tracing.md`: the attack, its p-values, and audits with it.
#
# ## Run it
#
# `dpassay demo in-this-study` takes about 11 s.
