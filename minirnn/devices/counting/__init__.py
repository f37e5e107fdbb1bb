"""A device that wraps another one and counts what it does: operations, bytes, launches."""

from minirnn.devices.counting.device import Count, Counting

__all__ = ["Count", "Counting"]
