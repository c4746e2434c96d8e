"""Demos on synthetic data.

deniable_records.py           Plausible deniability: the test of a synthetic record, its theorem, and classifiers
                              trained on such records
disclosure.py                 Singling out, linkability and attribute inference: a synthesiser that copies, compared
                              with a private one
five_marginals.py             Five noisy marginals of a census: privacy loss, errors of the marginals and of synthetic
                              records, and an audit
synthetic_is_not_private.py   Synthetic rows that copy people or leak one person, a similarity metric that misses the
                              leak, and a private table
"""
