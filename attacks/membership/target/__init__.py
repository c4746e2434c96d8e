"""Attacks that look at the target model alone, or at records that no model was trained on.

threshold.py    Loss, CorrectnessGap: one number a record against a threshold
entropy.py      Entropy, ModifiedEntropy: how sure the model is
gradients.py    GradientNorm, GradientInnerProduct: white-box
population.py   AttackP: thresholds from records of the population
quantile.py     QuantileRegression: thresholds that depend on the record
exposure.py     Exposure: the rank of a canary among what it could have been
"""
