"""How minirnn proves an op: cases, the ways of comparing them, tolerances that are derived, and tables."""
