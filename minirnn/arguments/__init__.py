"""Reads what a user passes (numbers, axes, shapes, arrays), and says what is wrong with it."""
