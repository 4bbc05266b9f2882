import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data():
    """The folder with real data sets, where there is one."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CURRICULUM_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no real data: set CURRICULUM_DATA to a folder with cifar-10-binary.tar.gz and trashnet/")
    return folder
