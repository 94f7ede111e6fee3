"""Hostile input for everything that reads what comes from outside: `make fuzz`, and a taste of it in every test run.

A :class:`~tests.fuzz.target.Target` is a way to make inputs and a check that may not fail whatever the input is. The
runner (``python -m tests.fuzz``) goes round all targets with ever new seeds until the time is up. What it finds goes
into ``corpus/``, and is replayed by ``test_fuzz.py`` from then on.
"""
