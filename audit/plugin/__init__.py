"""Privacy claims as pytest tests: the implementation of `dpassay.pytest_plugin`, which holds the hooks.

fixtures.py  DPAudit and DPRecord, the objects of the fixtures `dp_audit` and `dp_record`
options.py   options of a check, merged from marks and call, as arguments of `audit`
session.py   options, error budget and outcomes of all checks of a session
summary.py   the table of checks at the end of a session

Every pytest session imports these modules: until a check runs they import only the standard library and pytest.
"""
