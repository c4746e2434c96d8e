"""Lectures that run: each shows one leak, or one way to lie, in under a minute. `dpassay demo NAME` plays one.

Each file reads from top to bottom as a notebook does (cells start with `# %%`) and ends with `main(out)`, which plays
the whole lecture and returns the numbers that it found.

add_or_replace.py        blue eyes: one mechanism, one noise, two neighbouring relations
column_from_counts.py    a secret column from many noisy counts, and what a budget does to it
deniable_records.py      synthetic records that many could have given, what that promises and what it does not
dp_sgd.py                a private classifier: what four accountants promise, what four attackers find
error_of_mwem.py         MWEM against rounds, against epsilon, beside noise on every answer, and its audit
generators/              five ways to make synthetic data of noisy marginals, measured against each other
five_marginals.py        five noisy marginals of a census, synthetic records made from them, and what an audit shows
in_this_study.py         one row against published means: exact, rounded, private
lecture.py               what the lectures share: chapters, paragraphs and tables on a terminal
medical_visits.py        visits without names: linked, k-anonymous and intersected, and the cure
query_release.py         many queries at once: errors of six mechanisms, and the rates that theory knows
randomized_response.py   randomised response: the tax survey of Warner (1965)
repeated_answers.py      the same question asked again, and the mean of the answers
row_of_a_regression.py   a patient from the coefficients of a regression, and what rounding and noise do
which_marginals.py       what each count of MST, and each of its choices, gives away of one person
synthetic_is_not_private.py   synthetic rows that give people away, a metric that does not see it, and the cure
"""

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "demo",
    {
        "add-or-replace": "dpassay.experiments.demos.add_or_replace:main",
        "column-from-counts": "dpassay.experiments.demos.column_from_counts:main",
        "deniable-records": "dpassay.experiments.demos.deniable_records:main",
        "dp-sgd": "dpassay.experiments.demos.dp_sgd:main",
        "error-of-mwem": "dpassay.experiments.demos.error_of_mwem:main",
        "five-generators": "dpassay.experiments.demos.generators.five_generators:main",
        "five-marginals": "dpassay.experiments.demos.five_marginals:main",
        "in-this-study": "dpassay.experiments.demos.in_this_study:main",
        "medical-visits": "dpassay.experiments.demos.medical_visits:main",
        "query-release": "dpassay.experiments.demos.query_release:main",
        "randomized-response": "dpassay.experiments.demos.randomized_response:main",
        "repeated-answers": "dpassay.experiments.demos.repeated_answers:main",
        "row-of-a-regression": "dpassay.experiments.demos.row_of_a_regression:main",
        "which-marginals": "dpassay.experiments.demos.which_marginals:main",
        "synthetic-is-not-private": "dpassay.experiments.demos.synthetic_is_not_private:main",
    },
)
get = catalogue.get
