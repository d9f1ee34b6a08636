"""The version of Upwell."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the installed version."""
    try:
        return version("upwell")
    except PackageNotFoundError:  # run from the sources without installation
        return "0+source"
