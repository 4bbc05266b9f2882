"""Dependencies: every one is pinned, and `make audit` says what is known of them, and what could not be checked."""

import importlib.metadata
import json
import re

import pytest
from packaging.requirements import Requirement

from tests.faults import audit
from tests.faults.conftest import ROOT

GOOD = {"name": "numpy", "version": "2.4.6", "vulns": []}
BAD = {"name": "pillow", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.0", "1.1"]}]}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found"}


@pytest.fixture
def pip_audit(tmp_path):
    """A command in the place of pip-audit that answers with these packages, or as it does without a network."""

    def make(*packages):
        answer = json.dumps({"dependencies": packages}) if packages else ""
        (tmp_path / "answer").write_text(answer)
        command = tmp_path / "pip-audit"
        command.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\necho ConnectionError: nobody there >&2\nexit 1\n")
        command.chmod(0o755)
        return str(command)

    return make


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([GOOD], 0, "1 packages checked, 0 known vulnerabilities.\n"),
        ([GOOD, UNKNOWN], 0, "1 packages checked, 0 known vulnerabilities; nothing is known of the other 1.\n"),
        (
            [GOOD, BAD],
            1,
            "pillow 1.0: PYSEC-1, fixed in 2.0 or 1.1\n2 packages checked, 1 known vulnerabilities.\n",
        ),
        ([UNKNOWN], 0, "No vulnerability data can be reached from here, so nothing was checked.\n"),
        ([], 0, "No vulnerability data can be reached from here, so nothing was checked.\n"),
    ],
)
def test_the_audit_says_what_was_checked_and_fails_on_what_is_known(pip_audit, capsys, packages, code, words):
    assert audit.main(pip_audit(*packages), "constraints.txt") == code
    assert capsys.readouterr().out == words


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name, extras=frozenset()):
    """All packages that this one needs, and those need, by name; only what is installed can be asked."""
    found, ahead = set(), [(name, frozenset(extras))]
    while ahead:
        one = ahead.pop()
        if one in found:
            continue
        found.add(one)
        for line in importlib.metadata.requires(one[0]) or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in one[1] | {""}):
                ahead.append((plain(requirement.name), frozenset(requirement.extras)))
    return {one for one, _ in found} - {name}


def test_everything_that_gets_installed_is_pinned():
    if not importlib.metadata.version("torch").endswith("+cpu"):
        pytest.skip("constraints.txt pins a CPU build of torch, and another one is installed.")
    pinned = {plain(line.partition("==")[0]) for line in (ROOT / "constraints.txt").read_text().split()}
    assert needed("curriculum-labeling", {"dev"}) - pinned == set()
    assert all("==" in line for line in (ROOT / "constraints.txt").read_text().split())
