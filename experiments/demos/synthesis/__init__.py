"""Demos on synthetic data.

disclosure.py        Singling out, linkability and attribute inference: a synthesiser that copies, compared with a
                     private one
generators/          Generators of synthetic data from noisy marginals, compared
which_marginals.py   Privacy loss of one person in each noisy marginal of MST, and in its selection of pairs
"""
