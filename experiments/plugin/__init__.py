"""Privacy claims as tests of pytest: what is behind `dpassay.pytest_plugin`, which holds the hooks.

budget.py    the share of the session's false alarms that one check may spend, and its seed
check.py     DPAudit: what the fixture `dp_audit` gives a test
options.py   options of a check: names, merged from marks and call, and as arguments of `audit`
recording.py DPRecord: what the fixture `dp_record` gives a test
session.py   what the checks of a session share, and what became of each
summary.py   the table of checks at the end of a session
swallowed.py a test cannot hide what its checks raised

Every pytest session imports these: they import nothing but the standard library and pytest until a check runs.
"""
