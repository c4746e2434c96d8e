"""How a function is called: by its parameters, with the same seed on both sides, and in an interpreter of its own.

style.py        how a function wants to be called, and what people call it
same_seed.py    the same seed on both sides: how far apart the parts lie that noise is added to
coincidence.py       Test for repeated outputs that would be implausible under every output law
first_runs.py        First runs of a function: what it stores from one run to the next, and where it draws randomness f
forms.py             Usual form of the results of a function, fixed in advance from its first runs; other forms are eve
fresh_interpreter.py Program of a fresh interpreter: run new copies of a function on each side, and record the sources
fresh_runs.py        Runs in fresh interpreters: repetitions that recur there are due to a fixed seed or no randomness,
function.py          Any Python function as a mechanism
guard.py             Audited code is called inside a `Guard`: it may raise, exit or change the process in any way
labels.py            Short texts for objects and errors of user code, whatever their methods return or raise
mutation.py          Detection of functions that change their dataset
outcomes.py          Results of a function, converted to `Outputs`: one row of numbers per run, or the event in its pla
process_state.py     Process-wide state that audited code may change: read before a call, compared and restored afterwa
target.py            Objects found by "package.module:object" or "file.py:object"
"""
