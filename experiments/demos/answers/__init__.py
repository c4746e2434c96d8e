"""Demos on answers to queries.

error_of_mwem.py   Error of MWEM against rounds and epsilon, compared with plain noise, and an audit of its transcript
query_release.py   Measured errors of six mechanisms that answer a workload, compared with the known rates of query
                   release
top_down.py        TopDown on a synthetic nation: errors by level, bias of small counties, and the leak through
                   invariants
"""
