"""Coverage and power of the bounds, measured on laws with a known epsilon.

certificate.py  the coverage-and-power certificate: every bound on every law
cell.py         one cell of the certificate, and its allowed number of misses
coverage.py     the coverage of one bound
laws.py         laws of scores with a known exact curve
methods.py      methods under test: bounds, and the uncorrected maxima that are often mistaken for bounds
peers.py        the estimators of jax-privacy on the samples of the certificate
"""
