import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curriculum_labeling.data.cache import load
from curriculum_labeling.data.folders import list_images
from curriculum_labeling.vision import embeddings
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.embeddings import embed_images
from tests.data.photos import save_scenes
from tests.vision.embedder import BATCH, COUNT, embed
from tests.vision.small import colors

ROOT = Path(__file__).parents[2]
BATCHES = -(-COUNT // BATCH)


@pytest.fixture(scope="module")
def backbone():
    return open_backbone("tests.vision.backbones.own_networks:described", device="cpu")


@pytest.fixture
def start():
    started = []

    def run(folder, stop_after=0):
        command = [sys.executable, "-u", "-m", "tests.vision.embedder", str(folder), str(stop_after)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def read_until(process, word):
    for line in process.stdout:
        if line.startswith(word):
            return line.split()
    raise AssertionError(f"the process ended without saying {word!r}")


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".npy", ".json")}


def test_features_are_those_of_the_backbone_and_can_be_opened_by_any_numpy(tmp_path, backbone):
    images, seen = colors(10), []
    found = embed_images(images, backbone, tmp_path, batch=4, progress=seen.append)
    assert isinstance(found, np.memmap)
    assert np.allclose(found, backbone.embed(images.pixels), atol=1e-6)
    assert (np.load(tmp_path / "embeddings.npy") == found).all()
    assert [one.done for one in seen] == [4, 8, 10]
    assert [one.total for one in seen] == [10] * 3
    assert seen[-1].seconds_left == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["embeddings.json", "embeddings.lock", "embeddings.npy"]
    assert json.loads((tmp_path / "embeddings.json").read_text())["backbone"] == backbone.describe()


def test_a_killed_process_continues_and_ends_bit_identical(tmp_path, start):
    embed(tmp_path / "whole")
    (tmp_path / "killed").mkdir()
    for stop_after in (3, 5):
        process = start(tmp_path / "killed", stop_after)
        read_until(process, "stopped")
        process.kill()
        process.wait()
    last = start(tmp_path / "killed")
    assert read_until(last, "finished") == ["finished", str(BATCHES - 8)]
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_second_process_waits_for_the_first_and_uses_its_work(tmp_path, start):
    first = start(tmp_path, 3)
    read_until(first, "stopped")
    second = start(tmp_path)
    read_until(second, "log waiting for another process")
    (tmp_path / "go").touch()
    assert read_until(first, "finished") == ["finished", str(BATCHES)]
    assert read_until(second, "finished") == ["finished", "0"]


class StoppedError(Exception):
    pass


def stop_half_way(folder):
    def stop(state):
        if state.done >= 24:
            raise StoppedError

    with pytest.raises(StoppedError):
        embed(folder, stop)
    return folder / "embeddings.partial"


def damage(left):
    with open(left / "embeddings.npy", "r+b") as file:
        file.seek(128 + 5 * 4 * 6)
        file.write(b"damage")


def tear(left):
    journal = left / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-5])


def shorten(left):
    os.truncate(left / "embeddings.npy", 128)


def lie(left):
    with open(left / "journal.jsonl", "a", encoding="ascii") as journal:
        journal.write('{"batch": 99999, "crc": 0}\n')


@pytest.mark.parametrize(("harm", "kept"), [(damage, 5), (tear, 5), (shorten, 0), (lie, 6)])
def test_only_what_is_proven_right_is_kept(tmp_path, harm, kept):
    embed(tmp_path / "whole")
    harm(stop_half_way(tmp_path / "harmed"))
    seen = []
    embed(tmp_path / "harmed", seen.append)
    assert len(seen) == BATCHES - kept
    assert files(tmp_path / "harmed") == files(tmp_path / "whole")


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("name", ["embeddings.npy", "embeddings.json"])
def test_a_kill_at_the_last_renames_costs_no_computing(tmp_path, monkeypatch, name, side):
    embed(tmp_path / "whole")
    real = os.replace

    def replace_or_die(source, target):
        last = Path(target) == tmp_path / "killed" / name
        if last and side == "before":
            raise StoppedError
        real(source, target)
        if last:
            raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(embeddings.os, "replace", replace_or_die)
        with pytest.raises(StoppedError):
            embed(tmp_path / "killed")
    seen = []
    embed(tmp_path / "killed", seen.append)
    assert seen == []
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    assert not (tmp_path / "killed" / "embeddings.partial").exists()


def test_what_is_finished_is_not_computed_again_unless_it_is_of_something_else(tmp_path, backbone):
    def computed(images, batch=4, backbone=backbone):
        seen = []
        found = embed_images(images, backbone, tmp_path, batch=batch, progress=seen.append)
        assert np.allclose(found, backbone.embed(images.pixels), atol=1e-6)
        return bool(seen)

    images = colors(10)
    assert computed(images)
    assert not computed(images)
    assert computed(replace(images, pixels=images.pixels[::-1].copy()))
    assert computed(images)
    assert computed(images, batch=5)
    other = open_backbone("tests.vision.backbones.own_networks:described", device="cpu")
    other.module[0].bias.data += 1
    assert computed(images, batch=5, backbone=other)
    assert not computed(images, batch=5, backbone=other)


def test_cached_images_are_known_by_their_files(tmp_path, backbone):
    paths = save_scenes(tmp_path / "photos" / "cat", 6)
    seen = []

    def run(images):
        seen.clear()
        return np.array(embed_images(images, backbone, tmp_path / "out", progress=seen.append))

    def images():
        return load(list_images(tmp_path / "photos"), tmp_path / "cache", resolution=8).images

    whole = run(images())
    run(images())
    assert not seen
    some = images()
    part = replace(some, pixels=some.pixels[2:4], labels=some.labels[2:4], paths=some.paths[2:4])
    assert np.allclose(run(part), whole[2:4], atol=1e-6)
    assert seen
    save_scenes(tmp_path / "other", 1, seed=9)
    os.replace(tmp_path / "other" / "000.jpg", paths[0])
    assert not np.allclose(run(images())[0], whole[0])


def test_damaged_files_are_made_anew(tmp_path):
    whole = np.array(embed(tmp_path))
    for name in ("embeddings.npy", "embeddings.json"):
        (tmp_path / name).write_bytes(b"{")
        assert (embed(tmp_path) == whole).all()


def test_features_that_are_no_numbers_are_refused(tmp_path):
    backbone = open_backbone("tests.vision.backbones.own_networks:described", device="cpu")
    backbone.module[0].bias.data[:] = np.nan
    with pytest.raises(ValueError, match=r"must give finite features, got NaN or infinity for the image at row 0"):
        embed_images(colors(10), backbone, tmp_path)


def test_a_batch_of_nothing_is_refused(tmp_path, backbone):
    with pytest.raises(ValueError, match="batch must be a whole number, at least 1, got 0"):
        embed_images(colors(10), backbone, tmp_path, batch=0)
