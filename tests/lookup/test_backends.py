"""Settings that programs written for torch make at the start."""

import minirnn as mr
import minirnn.backends.cudnn as cudnn


def test_settings_of_cudnn_may_be_set() -> None:
    assert mr.backends.cudnn is cudnn and cudnn.deterministic and cudnn.enabled
    before = cudnn.benchmark
    mr.backends.cudnn.benchmark = True
    assert cudnn.benchmark and not before
    cudnn.benchmark = before
