"""Lectures that run: each shows one leak, or one way to lie, in under a minute. `dpassay demo NAME` plays one.

Each file reads from top to bottom as a notebook does (cells start with `# %%`) and ends with `main(out)`, which plays
the whole lecture and returns the numbers that it found.

add_or_replace.py        blue eyes: one mechanism, one noise, two neighbouring relations
column_from_counts.py    a secret column from many noisy counts, and what a budget does to it
deniable_records.py      synthetic records that many could have given, what that promises and what it does not
dp_sgd.py                a private classifier: what four accountants promise, what four attackers find
in_this_study.py         one row against published means: exact, rounded, private
leave_one_out.py         learners of equal accuracy, of which one gives an outlier away
lecture.py               what the lectures share: chapters, paragraphs and tables on a terminal
medical_visits.py        visits without names: linked, k-anonymous and intersected, and the cure
randomized_response.py   randomised response: the tax survey of Warner (1965)
repeated_answers.py      the same question asked again, and the mean of the answers
row_of_a_regression.py   a patient from the coefficients of a regression, and what rounding and noise do
"""

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "demo",
    {
        "add-or-replace": "dpassay.experiments.demos.add_or_replace:main",
        "column-from-counts": "dpassay.experiments.demos.column_from_counts:main",
        "deniable-records": "dpassay.experiments.demos.deniable_records:main",
        "dp-sgd": "dpassay.experiments.demos.dp_sgd:main",
        "in-this-study": "dpassay.experiments.demos.in_this_study:main",
        "leave-one-out": "dpassay.experiments.demos.leave_one_out:main",
        "medical-visits": "dpassay.experiments.demos.medical_visits:main",
        "randomized-response": "dpassay.experiments.demos.randomized_response:main",
        "repeated-answers": "dpassay.experiments.demos.repeated_answers:main",
        "row-of-a-regression": "dpassay.experiments.demos.row_of_a_regression:main",
    },
)
get = catalogue.get
