"""Systems of the literature: one room a family, with its claims, laws, attacks and broken twins.

convex/           Private convex learning
counts/           Counts of many subsets of one column of bits, the target of reconstruction attacks
federated/        Federated learning: clients keep their records and send updates of the model; privacy is for whole
                  clients
local/            Local mechanisms of the literature: frequency oracles, means of bounded numbers, and RAPPOR
ngrams/           Language models of n-grams, private and not
pate/             Teachers that vote: models of disjoint parts of the records, whose noisy votes label public queries
query_release/    Answers to many queries at once
selection/        Selection from the literature: top k, gaps, margins, quantiles, and mechanisms that draw a record or a
                  parameter
shuffle/          The shuffle model: users randomise their own messages, which are released in random order, without
                  names
statistics/       Statistics of records: sums and counts, and statistics whose noise depends on more than a sensitivity
studies/          Studies: published statistics of a group of people, each with 0 or 1 in many columns
synthetic_data/   Synthetic data: select marginals, measure them with noise, generate a table that fits the answers
tuning/           Private selection: the best of several private runs, as in hyper-parameter tuning
unlearning/       Unlearning: models that must forget records
"""
