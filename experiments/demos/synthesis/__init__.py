"""Demos on synthetic data.

disclosure.py        Singling out, linkability and attribute inference: a synthesiser that copies, compared with a
                     private one
five_marginals.py    Five noisy marginals of a census: privacy loss, errors of the marginals and of synthetic records,
                     and an audit
generators/          Generators of synthetic data from noisy marginals, compared
which_marginals.py   Privacy loss of one person in each noisy marginal of MST, and in its selection of pairs
"""
