"""No network: not at import, not in `fit` or `predict`, not in any test."""

import os
import re
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.faults.conftest import ROOT

# Without `-r` only root may; with it, anyone where the kernel permits user namespaces.
NAMESPACES = (["unshare", "--net"], ["unshare", "--map-root-user", "--net"])


def permitted(command):
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_importing_fitting_and_predicting_need_no_network(tmp_path):
    empty = next((way for way in NAMESPACES if permitted(way)), None)
    command = [sys.executable, "-m", "tests.faults.offline", str(tmp_path), *(["cut"] if empty is None else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*(empty or []), *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^tried none( efficientnet-lite0)?$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80)])
def test_a_test_that_connects_to_another_machine_fails(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    for name in ("connect", "connect_ex"):
        with (
            socket.socket(family) as way_out,
            pytest.raises(pytest.fail.Exception, match=rf"a test reached for {address[0]}; tests use no network"),
        ):
            getattr(way_out, name)(address)


def test_a_test_that_asks_for_an_address_fails():
    with pytest.raises(pytest.fail.Exception, match=r"a test reached for example.org; tests use no network"):
        urllib.request.urlopen("http://example.org")


def test_a_test_may_talk_to_itself():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
    assert socket.getaddrinfo("localhost", 80)
