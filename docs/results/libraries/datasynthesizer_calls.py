"""Calls of DataSynthesizer: the noisy distribution of one column, as its description file has it."""

import tempfile
from pathlib import Path

from DataSynthesizer.DataDescriber import DataDescriber


def described(dataset, **options):
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_text("answer\n" + "".join(f"{'yes' if value else 'no'}\n" for value in dataset))
        describer = DataDescriber(category_threshold=2)
        describer.describe_dataset_in_independent_attribute_mode(
            str(table), epsilon=1, attribute_to_is_categorical={"answer": True}, **options
        )
        return describer.data_description["attribute_description"]["answer"]["distribution_probabilities"]


def default_seed(dataset, rng):
    return described(dataset)


def drawn_seed(dataset, rng):
    return described(dataset, seed=int(rng.integers(2**31)))
