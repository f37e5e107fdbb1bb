"""Wrong calls of the primitive ops: those in the rows of `tests/ops/table.py`."""

from tests.ops.table import ROWS as OPS
from tests.ops.wrong import wrong_calls

ROWS = [wrong for row in OPS for wrong in wrong_calls(row)]
