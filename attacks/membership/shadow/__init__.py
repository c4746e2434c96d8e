"""Attacks that compare the target model with models that were trained with or without the record.

calibration.py     Calibration: less the mean score under the others
lira.py            LiRA: the likelihood ratio of two Gaussians
reference.py       AttackR: the share of references with a higher score
rmia.py            RMIA: against records of the population
base_mia.py        BASE: the Bayes-optimal score under a simple model
classifier.py      ShadowClassifier: a classifier trained on the outputs of shadow models
leave_one_out.py   scores of each model under the laws that the others give
"""
