"""Calls of pipeline-dp on its local backend. The noise is that of the C++ library, from the operating system."""

import pipeline_dp


def aggregate(dataset, metric):
    """Return one metric of one public partition; each value belongs to a user of its own."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[metric],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0.0,
        max_value=1.0,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: "all",
        value_extractor=lambda row: row[1],
    )
    rows = [(user, float(value)) for user, value in enumerate(dataset)]
    result = engine.aggregate(rows, params, extractors, public_partitions=["all"])
    accountant.compute_budgets()
    return tuple(dict(result)["all"])


def total(dataset, rng):
    return aggregate(dataset, pipeline_dp.Metrics.SUM)
