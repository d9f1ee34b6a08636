"""A real S3 server on loopback (moto) for tests, and the environment to reach it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

import pytest

__all__ = ["s3_server"]


@contextmanager
def s3_server(patch: pytest.MonkeyPatch, *buckets: str) -> Iterator[str]:
    """Run the server with some buckets; yield its URL."""
    import fsspec
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()  # noqa: S310 # moto keeps what an earlier one had
        values = {"ENDPOINT_URL": address, "ACCESS_KEY_ID": "an-id", "SECRET_ACCESS_KEY": "a-very-secret-key"}
        for name, value in {**values, "DEFAULT_REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        fsspec.get_filesystem_class(
            "s3"
        ).clear_instance_cache()  # a file system of an earlier test has other credentials
        files = fsspec.filesystem("s3")
        for bucket in buckets:
            files.mkdir(bucket)
        yield address
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        server.stop()
