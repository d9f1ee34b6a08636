"""Which Upwell this is."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version() -> str:
    """The version that is installed."""
    try:
        return version("upwell")
    except PackageNotFoundError:  # run from its source, without being installed
        return "0+source"
