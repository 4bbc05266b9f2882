import shutil

import pytest

from tests.report.runs import digits_run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A run that nobody changes."""
    return digits_run(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def run(finished_run, tmp_path):
    """A copy of the run, to be damaged."""
    return shutil.copytree(finished_run, tmp_path / "run")
