import pytest
import torch

from tests.experiments.layouts import write_cifar10, write_imagenet, write_svhn


@pytest.fixture(autouse=True)
def one_thread():
    """Results that are compared to the bit come from one thread, and tests share the machine."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """All three data sets, each in a folder of its name."""
    folder = tmp_path_factory.mktemp("data")
    write_cifar10(folder / "cifar10")
    write_svhn(folder / "svhn")
    write_imagenet(folder / "imagenet")
    return folder
