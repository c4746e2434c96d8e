"""Benchmarks: see `python -m benchmarks --help`."""
