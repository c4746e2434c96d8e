"""Privacy claims as tests of pytest: what is behind `dpassay.pytest_plugin`, which holds the hooks.

baseline.py    The baseline of a session: claims of an earlier one, with which each check is compared, and which a
               session saves
budget.py      The false-alarm budget of a session, divided among its checks; and the seed of each check
check.py       The object of the fixture `dp_audit`
options.py     Options of a check: their names, merged from marks and call, and as arguments of `audit`
recording.py   The object of the fixture `dp_record`
session.py     State of a session: the options of all checks, and the outcome of each
summary.py     The table of checks at the end of a session, collected from the reports of tests in all processes
swallowed.py   Failure of tests that catch an exception of their checks, unless `pytest.raises` expects it

Every pytest session imports these: they import nothing but the standard library and pytest until a check runs.
"""
