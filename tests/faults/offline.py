"""What needs no network: importing, fitting both ways and predicting; run as a program where there is none.

Arguments: a folder, and "cut" where this process is to cut itself off because nobody else could. Prints which
features were tried.
"""

import socket
import sys
from pathlib import Path

from tests.faults import scenes
from tests.network import cut_off

# An address that documentation uses and nobody has (RFC 5737).
NOBODY = ("192.0.2.1", 80)


def refuse(host):
    raise OSError(f"{host} cannot be reached: there is no network here")


def assert_cut_off():
    """That this process reaches nobody, and learns no addresses."""
    for attempt in (lambda: socket.create_connection(NOBODY, timeout=5), lambda: socket.getaddrinfo("example.org", 80)):
        try:
            attempt()
        except TimeoutError as error:
            raise AssertionError("there is a network, in which nobody answers") from error
        except OSError:
            continue
        raise AssertionError("there is a network")


def run(folder):
    """`curriculum fit` from scratch and on features, and `curriculum predict` with each model."""
    from curriculum_labeling.cli import main
    from curriculum_labeling.vision.backbones import default_backbone

    photos = scenes.lay_out(folder / "photos", scenes.NETWORK)
    ways = {"none": scenes.NETWORK.options}
    if (backbone := default_backbone()) is not None:
        ways[backbone] = ("--features", backbone, "--step", "50", "--threads", "1")
    for name, options in ways.items():
        out = folder / name
        assert main(scenes.fit(photos, scenes.Kind(name, 8, options), out)) == 0, name
        assert main(["predict", str(out), str(photos / "unlabeled"), "--out", str(out / "predicted.csv")]) == 0, name
    return list(ways)


if __name__ == "__main__":
    if sys.argv[2:] == ["cut"]:
        cut_off(setattr, refuse)
    assert_cut_off()
    import curriculum_labeling  # noqa: F401

    print("tried", *run(Path(sys.argv[1])))
