"""The printed formulas of the book, evaluated."""
