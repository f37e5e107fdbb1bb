"""The version, in one place: the build reads it here, and importing it costs nothing."""

__version__ = "1.0.0"
