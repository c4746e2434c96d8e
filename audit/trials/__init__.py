"""Running trials: plan, random streams, execution, store on disk, resume.

answers.py              Answers of an assistant in a JSONL file: append-only, so that an interrupted run continues
array_files.py          Arrays and texts from untrusted files: NPZ archives in which every header is read, and bounded,
                        before any data
examples.py             A few outputs of each side that fell into an event, and counts of a simple rule, for the report
                        of a refuted claim
execution.py            Execution of chunks on workers; finished chunks are kept in the store
folder.py               A folder that confines all writes below it
impossible_outputs.py   Outputs of one side that are impossible under the law of the other side, if the law is known
independence.py         A test of the independence of trials, with a valid level for every law of the outputs
options.py              Options of every game that do not affect its numbers: workers, store and progress
plan.py                 The plan of trials: their number, and their division into chunks
progress.py             Reporters, which receive the progress of the work
reduction.py            Reductions, which merge chunks in any order into the input of the next step; and changes of the
                        process
repeated_outputs.py     Detection of outputs that repeat: all runs of a side give the same output, or two chunks begin
                        with the same outputs
seeds.py                One independent random stream for every chunk of trials, derived from the root seed alone
store.py                The store of chunks on disk: append-only, checked, resumable
work.py                 The work on one chunk of trials: run, mark exceptional outputs, score, reduce. Workers receive
                        these objects
workers.py              Workers: processes of this machine, which end with the process that started them, and workers of
                        a cluster
"""
