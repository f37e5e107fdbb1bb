"""A recurrent cell as a graph: `graph` says what is in it, `layout` where it is, `drawing` draws it."""
