from __future__ import annotations

import pytest

from minirnn.devices.cpu.sequence import visit


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two or three steps at the sizes used here, so that their edges lie inside the sequence."""
    monkeypatch.setattr(visit, "CACHED_CELLS", 40)
