import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Results that are compared to the bit come from one thread, and tests share the machine."""
    torch.set_num_threads(1)
