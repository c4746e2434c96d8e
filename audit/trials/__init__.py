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
guards/      what could make trials dependent, or other trials than they seem, and is looked for while they run
workers.py   worker processes: they end with the process that started them
"""
