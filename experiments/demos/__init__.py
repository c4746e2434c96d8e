"""Lectures that run: each shows one leak, or one way to lie, in under a minute. `dpassay demo NAME` plays one.

Each file reads from top to bottom as a notebook does (cells start with `# %%`) and ends with `main(out)`, which plays
the whole lecture and returns the numbers that it found.

add_or_replace.py        blue eyes: one mechanism, one noise, two neighbouring relations
dp_sgd.py                a private classifier: what four accountants promise, what four attackers find
in_this_study.py         one row against published means: exact, rounded, private
lecture.py               what the lectures share: chapters, paragraphs and tables on a terminal
randomized_response.py   randomised response: the tax survey of Warner (1965)
"""

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "demo",
    {
        "add-or-replace": "dpassay.experiments.demos.add_or_replace:main",
        "dp-sgd": "dpassay.experiments.demos.dp_sgd:main",
        "in-this-study": "dpassay.experiments.demos.in_this_study:main",
        "randomized-response": "dpassay.experiments.demos.randomized_response:main",
    },
)
get = catalogue.get
