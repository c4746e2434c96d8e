# %% [markdown]
# # Is a table private because none of its people exists?
#
# "The data are synthetic: a model has learned the patients, and invents new ones." The best-fitting model of n records
# is their empirical distribution. It draws n rows at random, independently. How many of the n people are in the table?

# %%
import numpy as np

from dpassay.experiments.report.plots.style import AMBER, CLAIM, EndLabel, end_labels, logarithmic, panels, style_axes
from dpassay.mechanisms.literature.synthetic_data.broken import Resampled

SEED = 1979

shares = {}
for n in (2, 5, 10, 30, 100, 300, 1000):
    rows = Resampled(1.0, n_records=n).release(np.arange(n)[:, None], 1_000, np.random.default_rng([SEED, n])).values
    shares[n] = float(np.mean([len(np.unique(table)) / n for table in rows[:, :, 0]]))


def draw(ax):
    """Draw the shares against the number of records."""
    ax.plot(list(shares), list(shares.values()), marker="o", color=AMBER.light)
    ax.axhline(1.0 - np.exp(-1.0), color=CLAIM.light, linestyle="--")
    logarithmic(ax.xaxis, 1.7, 1150)
    style_axes(ax, title="Records that are in a table drawn from them", x="records n, and rows", y="share")
    end_labels(ax, [EndLabel(1.0 - np.exp(-1.0), "1 - 1/e", CLAIM)])


panels(draw, alt="Share of records that are in a table drawn from them; it falls to 1 - 1/e.", size=(7.0, 3.6))

# %% [markdown]
# Record i is missing from all n rows with probability (1 − 1/n)^n, which tends to 1/e. So 63.2% of the people are in
# a large table, word for word. Adding ten years to every age does not help: whoever knows this rule subtracts them
# again.

# %%
for n, share in shares.items():
    print(f"{n:5,} records: {share:.1%} are in the table, in theory {Resampled(1.0, n_records=n).share_shown:.1%}")

# %% [markdown]
# ## A metric, and an audit
#
# Vendors test for copies by the distance to the closest record: are the rows closer to the patients than to a hundred
# other people? 50% passes. An audit asks another question: does the *distribution* of the table depend on one patient?
#
# In a clinic of a hundred patients one woman has a diagnosis that nobody else has. We compare three generators: the
# copies above, and two that draw every column independently, from the exact shares of its values or from noisy counts.

# %%
from dpassay.attacks.literature.synthetic_tables import GeneratedQueries
from dpassay.attacks.literature.synthetic_tables.records import share_closer
from dpassay.audit import audit
from dpassay.mechanisms.core.records import replace_record
from dpassay.mechanisms.literature.synthetic_data import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from dpassay.mechanisms.noise.queries import Domain

domain = Domain.of({"age": 9, "sex": 2, "region": 4, "diagnosis": 6})


def patients(seed):
    """Return the codes of a hundred patients, `(100, 4)`: diagnoses depend on age, and diagnosis 5 does not occur."""
    rng = np.random.default_rng([SEED, seed])
    age = rng.binomial(8, 0.6, 100)
    diagnosis = np.clip(rng.binomial(3, 0.2, 100) + (age > 5), 0, 4)
    return np.column_stack([age, rng.integers(0, 2, 100), rng.integers(0, 4, 100), diagnosis])


def exact_columns(records, size, rng):
    """Return `size` tables with independent columns, each drawn from the exact shares of its values."""
    n, d = records.shape
    return np.stack([records[rng.integers(n, size=(size, n)), column] for column in range(d)], axis=2)


clinic, others = patients(0), patients(1)
ordinary = clinic[-1].copy()
clinic[-1] = (2, 0, 3, 5)  # a woman in her twenties, with diagnosis 5
pair = replace_record(clinic, 99, ordinary)
columns = FixedMarginals(tuple((name,) for name in domain.names), standard_deviation=4.0, relation="replace_one")
noisy_columns = SelectMeasureGenerate(domain, columns, GraphicalModel(), view="table")
claim = noisy_columns.guarantee()


def closer(release):
    """Return the mean share of rows that are closer to the patients than to a hundred other people."""
    return float(share_closer(np.asarray(release(clinic, 100, np.random.default_rng(SEED))), clinic, others).mean())


options, attack = {"delta": 1e-3, "trials": 2_000, "seed": SEED}, GeneratedQueries(model="logistic")
metric = {"copies": closer(Resampled(1.0, n_records=100).release)}
metric |= {"exact columns": closer(exact_columns), "noisy columns": closer(noisy_columns.release)}
audits = {
    "copies": audit(Resampled(1.0, n_records=100), pair, **options),
    "exact columns": audit(exact_columns, pair, claim=claim, attack=attack, **options),
    "noisy columns": audit(noisy_columns, pair, attack=attack, **options),
}

# %% tags=["hide-input"]
from dpassay.experiments.report.plots import LadderPlot, figure_of

for name, result in audits.items():
    bound = f"epsilon at least {result.bound.epsilon:.2f}, claimed {result.claim:.2f}: {result.verdict}"
    print(f"{name:14} {metric[name]:.0%} closer to the patients;  {bound}")
figure_of(LadderPlot.from_results(audits))

# %% [markdown]
# ## The surprise
#
# The second generator copies no record and passes the metric, and the audit refutes it. It releases her diagnosis in
# 1 − 0.99¹⁰⁰ = 63% of the tables with her, and in no table without her. Nobody has to find her row: a single cell
# proves that she was a patient.
#
# The third generator adds Gaussian noise of standard deviation 4 to the counts of each column. A diagnosis that nobody
# has may now appear, so its appearance proves little. The claim holds for every patient and every attack.
#
# ## What one would wrongly conclude
#
# - "No row equals a patient, so no patient is exposed." The metric looks at one table and its rows. Privacy is a
#   property of the mechanism: what would change, if one person were another?
# - "Noise ruins the table." For a hundred people its error is comparable with that of drawing a hundred rows at
#   random. With ten times as many people, the error by noise is a tenth, and that of random rows a third.

# %%
import pandas as pd


def errors(tables):
    """Return the mean total variation distance of the shares of each column from those of the patients."""
    found = {}
    for place, (name, n_values) in enumerate(domain.attributes):
        truth = np.bincount(clinic[:, place], minlength=n_values) / len(clinic)
        drawn = (tables[:, :, place, None] == np.arange(n_values)).mean(axis=1)
        found[name] = float(np.abs(drawn - truth).sum(axis=1).mean() / 2)
    return found


exact = errors(exact_columns(clinic, 100, np.random.default_rng(SEED)))
noisy = errors(np.asarray(noisy_columns.release(clinic, 100, np.random.default_rng(SEED)).values))
pd.DataFrame({"exact columns": exact, "noisy columns": noisy}).map("{:.1%}".format).rename_axis("error of")

# %% [markdown]
# ## Exercise
#
# The clinic repairs `exact_columns` with a filter: a row that equals the row of a patient is drawn again. Now it is
# certain that no patient is in the table. Predict the metric and the verdict.

# %% [markdown] tags=["answer"]
# The metric gets even better, and the verdict is still a violation: her diagnosis remains, in the row of another age,
# sex or region. The filter does not even help against the closest record, since it reads the records too: a row that
# never appears, although its values are common, is the row of a patient.


# %% tags=["answer"]
def filtered(records, size, rng):
    """Return tables of `exact_columns` in which no row equals a record."""
    sizes = [n_values for _, n_values in domain.attributes]
    forbidden, tables = np.ravel_multi_index(records.T, sizes), exact_columns(records, size, rng)
    while (wrong := np.isin(np.ravel_multi_index(np.moveaxis(tables, 2, 0), sizes), forbidden)).any():
        tables[wrong] = exact_columns(records, size, rng)[wrong]
    return tables


repaired = audit(filtered, pair, claim=claim, attack=attack, **options)
print(f"{closer(filtered):.0%} closer to the patients")
print(f"epsilon at least {repaired.bound.epsilon:.2f}, claimed {repaired.claim:.2f}: {repaired.verdict}")

# %% [markdown]
# ## See also
#
# - `dpassay demo disclosure`: three risks of a table, each compared with guesses.
# - `dpassay demo five-marginals`: private synthetic data, and their errors.
# - `docs/attacks/synthetic-data.md`: attacks on synthetic tables.
#
# ## Run it
#
# `dpassay demo synthetic-is-not-private` takes about 8 s.
