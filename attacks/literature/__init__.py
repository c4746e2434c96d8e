"""Attacks of the literature: on answers, tables, training, texts, studies, records without names, and attributes.

answers/            Reconstruction from answers: a column of bits, from many counts of subsets of it
attributes/         Inference about people: an unknown attribute, a label, or typical examples of a class
extraction/         Training text from language models: extraction, and the rank of a planted canary
linkage/            Names for records without names: linkage with background knowledge
synthetic_tables/   Was this record in the data that a synthetic table was made from? Higher score = it was
tables/             Reconstruction of published tables by integer programming: which blocks of people have these tables?
tracing/            Tracing: was this person in the study whose means were published? Higher score = the person was in
training/           Training data from the results of training: coefficients, noisy steps, or a gradient
"""
