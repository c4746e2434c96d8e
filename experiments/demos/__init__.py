"""Demos that run: each shows one leak, or one misleading claim, in under a minute. `dpassay demo NAME` runs one.

Each file reads from top to bottom as a notebook does (cells start with `# %%`) and ends with `main(out)`, which runs
the whole demo and returns its numbers.

add_or_replace.py        Two counts with Laplace noise under two neighbouring relations: the epsilon of one is twice
                         that of the other
answers/                 Demos on answers to queries
demo.py                  Output of the demos: chapters, paragraphs and tables in a terminal, and figures in a folder
dp_sgd.py                A private classifier: epsilons of four accountants, lower bounds of four attacks, and a bug in
                         the clipping
glyph_like.py            Synthetic substitute for the Glyph data of PATE: 150 classes, 5,000 teachers, and partly wrong
                         labels
people/                  Demos on information about people in studies, models and visits
randomized_response.py   Randomised response: the survey of Warner (1965), from Bayesian beliefs to an audit with lower
                         bounds near ln 3
rounds_of_votes.py       Two rounds of PATE: Confident-GNMax labels data for a first student, and Interactive-GNMax
                         corrects or confirms it
students_of_votes.py     Accuracy of PATE students that learn from the answered points only, or from all public points
synthesis/               Demos on synthetic data
votes_of_teachers.py     PATE: privacy loss of an answer, accuracy of a student, and a data-dependent epsilon that is
                         itself sensitive
"""

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "demo",
    {
        "add-or-replace": "dpassay.experiments.demos.add_or_replace:main",
        "column-from-counts": "dpassay.experiments.demos.answers.column_from_counts:main",
        "deniable-records": "dpassay.experiments.demos.synthesis.deniable_records:main",
        "disclosure": "dpassay.experiments.demos.synthesis.disclosure:main",
        "dp-sgd": "dpassay.experiments.demos.dp_sgd:main",
        "error-of-mwem": "dpassay.experiments.demos.answers.error_of_mwem:main",
        "five-generators": "dpassay.experiments.demos.synthesis.generators.five_generators:main",
        "five-marginals": "dpassay.experiments.demos.synthesis.five_marginals:main",
        "in-this-study": "dpassay.experiments.demos.people.in_this_study:main",
        "leave-one-out": "dpassay.experiments.demos.people.leave_one_out:main",
        "medical-visits": "dpassay.experiments.demos.people.medical_visits:main",
        "query-release": "dpassay.experiments.demos.answers.query_release:main",
        "randomized-response": "dpassay.experiments.demos.randomized_response:main",
        "repeated-answers": "dpassay.experiments.demos.answers.repeated_answers:main",
        "row-of-a-regression": "dpassay.experiments.demos.people.row_of_a_regression:main",
        "synthetic-is-not-private": "dpassay.experiments.demos.synthesis.synthetic_is_not_private:main",
        "top-down": "dpassay.experiments.demos.answers.top_down:main",
        "votes-of-teachers": "dpassay.experiments.demos.votes_of_teachers:main",
        "which-marginals": "dpassay.experiments.demos.synthesis.which_marginals:main",
    },
)
get = catalogue.get
