"""How a name is found: torch's paths and names, imports on first use, and an answer for a name that is not here."""
