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
number_text.py    Numbers as text: the only place with a format of a float, so that a number reads the same wherever it
                  is shown
output_names.py   Names of the numbers of an output, for descriptions of attacks and events; they enter no score and no
                  bound
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

from typing import TYPE_CHECKING

from .lazy_names import lazy_names

if TYPE_CHECKING:
    from .arrays import Bools as Bools, Floats as Floats, Ints as Ints
    from .base import (
        Data as Data,
        Dataset as Dataset,
        KnownCurve as KnownCurve,
        KnownViews as KnownViews,
        LogDensity as LogDensity,
        Mechanism as Mechanism,
        Neighbours as Neighbours,
        Outputs as Outputs,
        Workers as Workers,
        example as example,
        known_law as known_law,
        unknown_law as unknown_law,
    )
    from .constraints import (
        AddOrReplace as AddOrReplace,
        Constraint as Constraint,
        Delta as Delta,
        Finite as Finite,
        Flag as Flag,
        NonNegative as NonNegative,
        NonNegativeInt as NonNegativeInt,
        OpenUnit as OpenUnit,
        Options as Options,
        Positive as Positive,
        PositiveInt as PositiveInt,
        PositiveProbability as PositiveProbability,
        UnitInterval as UnitInterval,
        at_least as at_least,
        check_fields as check_fields,
        constraints_of as constraints_of,
        instance_of as instance_of,
        one_of_names as one_of_names,
    )
    from .errors import (
        MAX_LISTED_NAMES as MAX_LISTED_NAMES,
        AccountingError as AccountingError,
        AlwaysRaisesError as AlwaysRaisesError,
        AttackError as AttackError,
        CallError as CallError,
        ClusterError as ClusterError,
        ConfigError as ConfigError,
        DataError as DataError,
        DependentTrialsError as DependentTrialsError,
        DpassayError as DpassayError,
        FingerprintError as FingerprintError,
        ManyRunsError as ManyRunsError,
        NeighboursError as NeighboursError,
        NoAnswerError as NoAnswerError,
        ParameterError as ParameterError,
        PlugInError as PlugInError,
        PrivacyViolation as PrivacyViolation,
        RelationError as RelationError,
        ReleaseError as ReleaseError,
        ResultError as ResultError,
        SliceDoneError as SliceDoneError,
        StoreError as StoreError,
        UnknownNameError as UnknownNameError,
        listed as listed,
        missing_message as missing_message,
        plural as plural,
        unknown_name_message as unknown_name_message,
    )
    from .fingerprint import describe as describe, identity as identity, opaque as opaque, same_fields as same_fields
    from .guarantee import Guarantee as Guarantee
    from .memory import (
        available_memory as available_memory,
        lacks_memory as lacks_memory,
        no_more_than_available as no_more_than_available,
    )
    from .multiplicity import holm as holm
    from .number_text import (
        beside as beside,
        chance as chance,
        confidence_text as confidence_text,
        duration as duration,
        fixed as fixed,
        in_units as in_units,
        number as number,
        p_value_text as p_value_text,
        parameter_text as parameter_text,
        percent as percent,
        percent_below as percent_below,
        percent_between as percent_between,
        percent_range as percent_range,
        points as points,
        typeset as typeset,
    )
    from .output_names import NO_NAMES as NO_NAMES, OutputNames as OutputNames
    from .printable import (
        INVISIBLE as INVISIBLE,
        csv_cell as csv_cell,
        display_name as display_name,
        fenced as fenced,
        html as html,
        line as line,
        markdown as markdown,
        terminal as terminal,
    )
    from .record_edits import is_pandas as is_pandas
    from .records import (
        RecordsMechanism as RecordsMechanism,
        check_different as check_different,
        check_records as check_records,
        check_worst_case as check_worst_case,
        mixed_records as mixed_records,
        n_records as n_records,
        remove_record as remove_record,
        replace_record as replace_record,
        zero_record as zero_record,
    )
    from .registry import (
        Catalogue as Catalogue,
        Tier as Tier,
        catalogue_of as catalogue_of,
        named_in as named_in,
        packages_used as packages_used,
        registered as registered,
    )
    from .relation import Relation as Relation
    from .root_finding import (
        arithmetic as arithmetic,
        bisect as bisect,
        bisect_all as bisect_all,
        bracket as bracket,
        geometric as geometric,
        integer as integer,
        least_integers as least_integers,
        least_integers_near as least_integers_near,
        least_satisfying as least_satisfying,
        maximise as maximise,
    )
    from .tensors import (
        own_random_states as own_random_states,
        random_states as random_states,
        set_random_states as set_random_states,
        tensor_to_array as tensor_to_array,
    )
    from .threads import single_thread as single_thread
    from .validation import (
        called_as as called_as,
        counted as counted,
        delta_range as delta_range,
        finite as finite,
        instance as instance,
        missing_entries as missing_entries,
        non_negative as non_negative,
        none_missing as none_missing,
        numeric_rows as numeric_rows,
        one_of as one_of,
        open_unit as open_unit,
        positive as positive,
        real_numbers as real_numbers,
        rectangular as rectangular,
        unit_interval as unit_interval,
        whole as whole,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)
