"""Running trials: plan, random streams, execution, store on disk, resume.

plan.py                number of trials, and the chunks that they are cut into
seeds.py               one random stream for each chunk
work.py                one chunk: run, score, reduce
execution.py           chunks spread over workers
workers.py             worker processes, which end with the process that started them
reduction.py           chunks merged into pilot outputs, scores or counts
store.py               chunks on disk; resume
folder.py              a folder that no write leaves
array_files.py         arrays from untrusted files: headers are checked before data is read
options.py             workers, store and progress: the same options for every game
progress.py            receivers of the progress
independence.py        a test of the independence of trials, valid for every law of the outputs
repeated_outputs.py    constant outputs, and chunks that begin with the same outputs
impossible_outputs.py  outputs that are impossible under the known law of the other side
examples.py            a few outputs of each side in the event that decides, as text
"""
