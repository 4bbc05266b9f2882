import hashlib
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from curriculum_labeling.data import download
from curriculum_labeling.data.download import DownloadError, Remote, fetch, fetch_cifar10, fetch_svhn

CONTENT = os.urandom(300_000)
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """A server on this machine that cuts connections, ignores ranges or breaks bytes, as it is told."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.cuts, self.ranges, self.asked, self.status = CONTENT, [], True, [], None

    @property
    def remote(self):
        return Remote(f"http://127.0.0.1:{self.server_port}/data.bin", MD5)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        start = int(wanted[6:-1]) if wanted and self.server.ranges else 0
        body = self.server.content[start:]
        if self.server.status or (start and not body):
            self.send_error(self.server.status or 416)
            return
        self.send_response(206 if start else 200)
        if start:
            total = len(self.server.content)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.cuts.pop(0)] if self.server.cuts else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path):
    seen = []
    path = fetch(server.remote, tmp_path / "new", progress=lambda *state: seen.append(state))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert fetch(server.remote, tmp_path / "new") == path
    assert server.asked == [None]
    assert not list((tmp_path / "new").glob("*.part"))


def test_a_cut_connection_is_resumed_where_it_was_cut(server, tmp_path):
    server.cuts = [100_000, 50_000]
    assert fetch(server.remote, tmp_path).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_what_an_earlier_run_received_is_kept(server, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:123_456])
    assert fetch(server.remote, tmp_path).read_bytes() == CONTENT
    assert server.asked == ["bytes=123456-"]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.ranges = False
    (tmp_path / "data.bin.part").write_bytes(b"x" * 123_456)
    assert fetch(server.remote, tmp_path).read_bytes() == CONTENT


def test_a_file_that_was_received_but_not_yet_named_is_taken(server, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(CONTENT)
    assert fetch(server.remote, tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_removes_the_file_and_says_so(server, tmp_path):
    server.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    with pytest.raises(DownloadError, match=rf"arrived damaged \(MD5 \w+, published {MD5}\) and was removed"):
        fetch(server.remote, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["data.bin.lock"]


def test_a_connection_that_always_breaks_ends_in_one_error(server, tmp_path):
    server.cuts = [1000] + [0] * 20
    with pytest.raises(DownloadError, match=r"could not be downloaded \(.+\); check the network and run again"):
        fetch(server.remote, tmp_path)
    assert (tmp_path / "data.bin.part").stat().st_size == 1000
    assert len(server.asked) == 1 + download.ATTEMPTS


def test_an_answer_that_is_no_file_is_named(server, tmp_path):
    server.status = 404
    with pytest.raises(DownloadError, match=r"could not be downloaded \(the server answered 404 Not Found\)"):
        fetch(server.remote, tmp_path)


def test_offline_is_one_clear_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        remote = Remote(f"http://127.0.0.1:{taken.getsockname()[1]}/data.bin", MD5)
        with pytest.raises(
            DownloadError, match=r"could not be downloaded \(.*refused\).*place the file at .*data\.bin"
        ):
            fetch(remote, tmp_path)


def test_the_sets_are_fetched_by_name(server, tmp_path, monkeypatch):
    monkeypatch.setitem(download.CIFAR10, "binary", server.remote)
    monkeypatch.setitem(download.SVHN, "train", server.remote)
    assert fetch_cifar10(tmp_path / "a").name == "data.bin"
    assert [path.name for path in fetch_svhn(tmp_path / "b", parts=["train"])] == ["data.bin"]
    with pytest.raises(ValueError, match=r'parts must be of "train", "test" and "extra", got .val.'):
        fetch_svhn(tmp_path, parts=["val"])


def test_official_addresses_end_in_the_names_that_the_loaders_look_for():
    assert download.CIFAR10["binary"].name == "cifar-10-binary.tar.gz"
    assert {part: remote.name for part, remote in download.SVHN.items()} == {
        part: f"{part}_32x32.mat" for part in ("train", "test", "extra")
    }
