"""Auditors side by side."""
