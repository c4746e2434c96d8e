"""Demos on synthetic data.

deniable_records.py           synthetic records that many records could have generated: guarantee and utility
disclosure.py                 singling out, linkability and attribute inference: copies, and a private table
five_marginals.py             five noisy marginals of a census, synthetic records from them, and their audit
generators/                   five generators of synthetic data from noisy marginals, compared
synthetic_is_not_private.py   synthetic rows that leak people, a metric that misses the leak, and a private generator
which_marginals.py            the privacy loss of one person in each noisy marginal of MST, and in their selection
"""
