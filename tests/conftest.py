import pytest
from sklearn.datasets import make_blobs

from tests.blobs import few_labels


@pytest.fixture(scope="session")
def blobs():
    X, y = make_blobs(240, centers=3, cluster_std=2.0, n_features=4, random_state=0)
    return X, y, few_labels(y)
