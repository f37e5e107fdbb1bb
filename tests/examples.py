"""The number of examples from Hypothesis: a few in the default run, all with ``--hypothesis-profile full``."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

FULL = 100
"""The examples of a test without its own number, in the profile `full`."""

QUICK = 10
"""The same in the default run."""

FEWEST = 4
"""The fewest examples of a test in the default run, unless it has fewer in the profile `full`."""

CHARACTERS = (st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF)).map(chr)
"""Whatever UTF-8 can hold. Hypothesis' own characters need a table of all, which a new clone makes in 1.5 s."""


def register_profiles() -> None:
    """Register the profiles, and load `quick`. Both make the same examples in every run."""
    # The only fixtures of such tests are names of devices and folders, which need not be new for each example.
    unimportant = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    settings.register_profile(
        "full", max_examples=FULL, derandomize=True, deadline=None, print_blob=True, suppress_health_check=unimportant
    )
    settings.register_profile("quick", settings.get_profile("full"), max_examples=QUICK)
    settings.load_profile("quick")


def examples(n: int) -> settings:
    """Decorate a test that makes `n` examples in the profile `full`, and its share of them in the default run."""
    share = settings.default.max_examples / FULL
    return settings(max_examples=min(n, max(FEWEST, round(share * n))))
