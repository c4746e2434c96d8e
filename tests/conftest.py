"""Settings that every test shares: hypothesis with a fixed profile, so that a red build repeats."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("fixed")

pytest_plugins = ["pytester"]
