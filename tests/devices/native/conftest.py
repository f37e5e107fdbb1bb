import pytest

import minirnn as mr


@pytest.fixture(autouse=True)
def native_works() -> None:
    """Without a C++ compiler there is nothing to test here."""
    if (reason := mr.devices.available()["native"]) is not None:
        pytest.skip(f"native: {reason}")
