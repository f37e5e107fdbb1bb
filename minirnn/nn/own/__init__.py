"""A user's own recurrent cell: its decorator, its layers, and the file that it comes from."""
