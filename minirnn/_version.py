"""The version. The build reads it from this file, which imports nothing."""

__version__ = "1.0.0"
