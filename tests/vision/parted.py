"""A group of which one process fails; run as a program, once per process, with its rank in the environment.

Arguments: the rank that fails, and what the others do meanwhile.
"""

import sys

import torch

from curriculum_labeling.vision.distributed import Group, current_group, processes

WAITING = {
    "add": lambda group: group.add(torch.zeros(1000)),
    "gather": lambda group: group.gather("here"),
    "from_first": lambda group: [group.from_first("here") for _ in range(2)],
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    try:
        with processes() as group:
            group.gather("all here")
            if group.rank == int(sys.argv[1]):
                raise ValueError("this process has had enough")
            while True:
                WAITING[sys.argv[2]](group)
    except (ValueError, OSError) as error:
        assert current_group() == Group(), "the group is left"
        sys.exit(f"{type(error).__name__}: {error}")
