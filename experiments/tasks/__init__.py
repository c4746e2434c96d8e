"""Tasks: questions that are checked and ready to run. Here the interface, and those of the commands on files.

assistants.py   Audit of an assistant from its answers about canary documents, in files
base.py         The interface of a task: a question that is checked and ready to run. Read this first
judgement.py    Test of a claim with scores in a file
membership.py   Membership attacks on shadow models in a file, or on a model that is a function and records in a file
table_risk.py   Disclosure risks of a synthetic table in a file
texts.py        Language models from the log probabilities of texts in a file, with coins an audit of the training
"""
