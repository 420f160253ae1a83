"""Statistics of studies: numbers in, numbers out, without a trial or a config."""

from rffbench.stats.columns import ColumnsNeeded as ColumnsNeeded
from rffbench.stats.columns import columns_needed as columns_needed
