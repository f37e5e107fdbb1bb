"""Mutants and the tests that notice them: the parts of `kill_power.py`."""
