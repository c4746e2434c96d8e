"""Python functions as mechanisms: how a function is called, with the same seed on both sides and in fresh interpreters.

function.py            FunctionMechanism, any Python function as a mechanism: read this first
target.py              objects found by "package.module:object", their calling style and their name
forms.py               usual form of the results, fixed in advance from the first runs; other forms are events
outcomes.py            results converted to `Outputs`: one row of numbers for each run, or an event in its place
guard.py               guard inside which audited code is called, and short texts of its objects and errors
state.py               state that audited code may change: of the process, and of its dataset
first_runs.py          first runs: what a function stores between runs, and where its randomness comes from
same_seed.py           runs with the same seed on both sides, and implausible repetitions
fresh_runs.py          runs in fresh interpreters, which separate a fixed seed from a memory of earlier runs
fresh_interpreter.py   program of a fresh interpreter
"""
