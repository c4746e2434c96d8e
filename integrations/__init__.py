"""Audits inside the tools of others: each module needs its library, which `pip install "dpassay[NAME]"` brings.

transformers.py   Audits of fine-tuning with Hugging Face: canaries in the training texts, and a callback for the
                  Trainer
"""
