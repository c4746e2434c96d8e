"""Running trials: plan, seeds, execution, store on disk, resume.

plan.py        how many trials, cut into which chunks
seeds.py       one random stream a chunk
work.py        one chunk: run, score, reduce
reduction.py   chunks merged into pilot outputs, scores or counts
store.py       chunks on disk; resume
execution.py   chunks spread over workers
examples.py    a few outputs of each side in the event that decides, as text
progress.py    who receives how far it is
options.py     workers, store and progress: the same options for every game
folder.py    a folder that no write leaves
array_files.py arrays from files of other people: headers are checked before data is read
workers.py   worker processes: they end with the process that started them
changed_state.py     Changes that audited code made in its process, over all chunks, as warnings of a result
constant_outputs.py  Detection of outputs that never vary: no noise, or a function that remembers an earlier run
impossible_outputs.py Outputs of one side that are impossible under the law of the other side, if the law is known
independence.py      A test of the independence of trials, with a valid level for every law of the outputs
repeated_chunks.py   A guard against runs that repeat each other: they are not independent trials, no bound holds, and
"""
