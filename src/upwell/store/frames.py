"""Arrow tables as data frames of other libraries, which are extras."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from upwell.errors import MissingExtra

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["pandas_frame", "polars_frame"]


def pandas_frame(table: Callable[[], pyarrow.Table]) -> pandas.DataFrame:
    """The rows of a table, which is made when the library is there, as a pandas data frame."""
    try:
        import pandas  # noqa: F401 # Arrow needs it
    except ImportError as missing:
        raise MissingExtra("a data frame needs the package pandas: pip install 'upwell[pandas]'") from missing
    return table().to_pandas()


def polars_frame(table: Callable[[], pyarrow.Table]) -> polars.DataFrame:
    """The same as a Polars data frame."""
    try:
        import polars
    except ImportError as missing:
        raise MissingExtra("a data frame needs the package polars: pip install 'upwell[polars]'") from missing
    frame = polars.from_arrow(table())
    return frame if isinstance(frame, polars.DataFrame) else frame.to_frame()
