"""Demos on information about people in studies, models and visits.

row_of_a_regression.py   Reconstruction of a row from regression coefficients: exact, rounded, noisy, and differentially
                         private
"""
