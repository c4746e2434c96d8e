"""The ways to generate synthetic data, against each other."""
