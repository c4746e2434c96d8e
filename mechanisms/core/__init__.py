"""Interfaces and checks that all mechanisms share; base.py is read first.

arrays.py         Short names for the types of arrays
base.py           Interfaces of this package: read this module first
constraints.py    Constraints on the parameters of a class, declared with their fields
errors.py         Errors that the library raises on purpose
fingerprint.py    Fingerprints: a description of an object that changes with its behaviour, and the digest of this
                  description
guarantee.py      Interface of a privacy guarantee: three equivalent views
lazy_names.py     Names of a package that are imported when they are first used, although type checkers see them as
                  imports
memory.py         Available memory, and a `MemoryError` instead of a killed process when an allocation does not fit
multiplicity.py   Corrections for multiple testing: over sweeps, pairs, attacks, bounds and test sessions
printable.py      Display names of objects, and untrusted text escaped for the medium on which it is shown
record_edits.py   Edits of one entry of a column (an array, a list, a tuple, a DataFrame or a Series): remove, replace
                  or blank it
records.py        Collections of records: pairs built from one dataset, and the check that a pair is neighbouring
registry.py       Catalogues: public names, and the locations of the classes behind them
relation.py       Neighbouring relations
root_finding.py   Bisection of monotone conditions, for numbers, whole numbers and arrays, and maxima of functions of
                  one variable
tensors.py        PyTorch where it is loaded, without importing it: tensors as arrays, and the global random states
threads.py        Limits on the threads of BLAS and OpenMP: the rounding of a sum depends on their number
validation.py     Shared checks of arguments: each takes `name=value` and raises a `ParameterError` that names both
"""
