"""Audits inside the tools of others: each module needs its library, which `pip install "dpassay[NAME]"` brings.

mlflow.py         Audits in MLflow: `log_audit(result)` in an active run
tracking.py       What experiment trackers keep of an audit: numbers, words, and files
transformers.py   Audits of fine-tuning with Hugging Face: canaries in the training texts, and a callback for the
                  Trainer
wandb.py          Audits in Weights & Biases: `log_audit(result)` in an active run, also offline
"""
