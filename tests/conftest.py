import pytest
from sklearn.datasets import make_blobs

from tests.blobs import few_labels
from tests.network import cut_off


@pytest.fixture(scope="session", autouse=True)
def no_network():
    """No test may reach for another machine: one that does fails, whatever the code under test makes of it."""
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch.setattr, lambda host: pytest.fail(f"a test reached for {host}; tests use no network."))
        yield


@pytest.fixture(scope="session")
def blobs():
    X, y = make_blobs(240, centers=3, cluster_std=2.0, n_features=4, random_state=0)
    return X, y, few_labels(y)
