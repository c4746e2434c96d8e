"""Python functions as mechanisms: how a function is called, with the same seed on both sides and in fresh interpreters.

calls.py               Calls of a function in this process, with their results or what stands for them
forms.py               Usual form of the results of a function, fixed in advance from its first runs; other forms are
                       events
function.py            Any Python function as a mechanism
guard.py               Guard inside which audited code is called, and short texts of its objects and errors
isolated.py            Isolated processes: new interpreters in which audited code runs, and what they answer
isolated_function.py   A function that is imported and run in an isolated process, never in this one
isolated_process.py    Program of an isolated process: create a function, and answer requests for its runs
messages.py            Messages between this process and one that runs audited code: plain data only, so that reading
                       them runs no code
names.py               Names of the numbers of a result: keys of dicts, columns of tables, fields of dataclasses and of
                       named tuples
outcomes.py            Results of a function, converted to `Outputs`: one row of numbers per run, or the event in its
                       place
reading.py             One result of a function, read as a row of numbers or an event: any object becomes plain data
                       here
same_seed.py           Use of the seed by a function: findings of its first runs, also with the same seed on both sides
source.py              A function as a fresh process can create it again
state.py               State that audited code may change: that of the process, and the contents of its dataset
target.py              Functions to audit: found by "package.module:object" or "file.py:object", with their calling
                       style and name
"""
