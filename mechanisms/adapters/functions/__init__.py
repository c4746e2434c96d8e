"""Python functions as mechanisms: how a function is called, with the same seed on both sides and in fresh interpreters.

first_runs.py          First runs of a function: what it stores from one run to the next, and where it draws randomness
                       from
forms.py               Usual form of the results of a function, fixed in advance from its first runs; other forms are
                       events
fresh_interpreter.py   Program of a fresh interpreter: run new copies of a function on each side, and record the sources
                       of randomness
fresh_runs.py          Runs in fresh interpreters: repetitions that recur there are due to a fixed seed or no
                       randomness, others to memory
function.py            Any Python function as a mechanism
guard.py               Guard inside which audited code is called, and short texts of its objects and errors
names.py               Names of the numbers of a result: keys of dicts, columns of tables, fields of dataclasses and of
                       named tuples
outcomes.py            Results of a function, converted to `Outputs`: one row of numbers per run, or the event in its
                       place
same_seed.py           Use of the seed by a function: runs with the same seed on both sides, and implausible repeated
                       outputs
state.py               State that audited code may change: that of the process, and the contents of its dataset
target.py              Functions to audit: found by "package.module:object" or "file.py:object", with their calling
                       style and name
"""
