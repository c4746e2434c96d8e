"""Scores of another tool: `python distance_scores_calls.py TOOL FOLDER`, in the environment of that tool.

Each folder in FOLDER has real.csv, synthetic.csv and holdout.csv. Prints one JSON object for each: its name as "table",
and the scores. All settings are those that the tool has by default; where it has a seed it is 0.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd


def sdmetrics(real, synthetic, holdout):
    from sdmetrics.single_table import DCRBaselineProtection, DCROverfittingProtection

    columns = {
        name: {"sdtype": "numerical" if pd.api.types.is_numeric_dtype(real[name]) else "categorical"} for name in real
    }
    about = {"tables": {"table": {"columns": columns}}}
    made = [{"table": real}, {"table": synthetic}]
    overfitting = DCROverfittingProtection.compute(*made, holdout, metadata=about, table_name="table")
    baseline = DCRBaselineProtection.compute(*made, metadata=about, table_name="table")
    return {"DCROverfittingProtection": overfitting, "DCRBaselineProtection": baseline}


def nemo(real, synthetic, holdout):
    from nemo_safe_synthesizer.evaluation.components.membership_inference_protection import (
        MembershipInferenceProtection,
    )

    score, *_ = MembershipInferenceProtection.mia(real, synthetic, holdout)
    return {"membership": score.score, "grade": score.grade.value}


def syntheval(real, synthetic, holdout):
    import numpy as np
    from syntheval import SynthEval

    np.random.seed(0)
    asked = {"mia": {"num_eval_iter": 5}, "eps_risk": {}, "dcr": {}}
    table = SynthEval(real, holdout_dataframe=holdout, verbose=False).evaluate(synthetic, **asked)
    return {str(name): value for name, value in zip(table["metric"], table["val"], strict=True)}


def anonymeter(real, synthetic, holdout):
    from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator

    attacks = min(500, len(holdout))
    singling = SinglingOutEvaluator(real, synthetic, control=holdout, n_attacks=attacks, seed=0)
    singling.evaluate(mode="multivariate")
    columns = list(real)
    halves = (columns[::2], columns[1::2])
    linking = LinkabilityEvaluator(real, synthetic, halves, n_attacks=attacks, control=holdout)
    linking.evaluate(n_jobs=1)
    return {"singling out": singling.risk().ci[0], "linkability": linking.risk().ci[0]}


def main(tool, folder):
    warnings.simplefilter("ignore")
    for one in sorted(Path(folder).iterdir()):
        tables = [pd.read_csv(one / f"{name}.csv") for name in ("real", "synthetic", "holdout")]
        print(json.dumps({"table": one.name} | globals()[tool](*tables), default=float), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
