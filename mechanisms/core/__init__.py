"""Interfaces and checks that all mechanisms share; base.py is read first.

base.py           mechanisms, neighbours, outputs and output laws
relation.py       neighbouring relations
guarantee.py      interface of a privacy guarantee: three equivalent views
constraints.py    constraints on the parameters of a class, declared with their fields
validation.py     the checks behind the constraints, for arguments of functions
errors.py         errors that the library raises on purpose
records.py        collections of records: pairs built from one dataset, and the check that a pair is neighbouring
record_edits.py   remove, replace or blank one record of an array, a list, a tuple or a table
registry.py       catalogues: public names, and the locations of the classes behind them
fingerprint.py    descriptions of objects that change with their behaviour, and digests of these descriptions
printable.py      display names of objects, and untrusted text escaped for the medium on which it is shown
root_finding.py   bisection of monotone conditions
arrays.py         short names for the types of arrays
memory.py         available memory, and a `MemoryError` instead of a killed process
"""
