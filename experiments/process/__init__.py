"""The process that a command runs in: how it starts, what reaches it, how it ends.

streams.py      standard streams that may be closed, full, or read by nobody
signals.py      Ctrl-C, SIGTERM and SIGHUP as exceptions
supervisor.py   a child process for audited code, whose end without a verdict is noticed
"""
