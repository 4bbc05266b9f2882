"""Sets for the benchmarks: scikit-learn's own, made ones, and CIFAR-10 reduced by PCA where it is at hand."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_blobs,
    make_classification,
    make_moons,
)
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

Rows = Any  # a pair (X, y)


def data_directory() -> Path | None:
    """Where real data lies: CURRICULUM_DATA, or shared/data beside the repository; None if nowhere."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CURRICULUM_DATA", beside))
    return folder if folder.is_dir() else None


@cache
def cifar10_pca(rows: int = 10_000, components: int = 60) -> Rows:
    """The first rows of CIFAR-10, reduced by PCA; raises FileNotFoundError where the archive is missing."""
    folder = data_directory()
    if folder is None or not (folder / "cifar-10-binary.tar.gz").exists():
        raise FileNotFoundError("cifar-10-binary.tar.gz is not at hand; set CURRICULUM_DATA to its folder.")
    with tarfile.open(folder / "cifar-10-binary.tar.gz") as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("data_batch_1.bin"))
        file = archive.extractfile(member)
        assert file is not None
        table = np.frombuffer(file.read(), np.uint8).reshape(-1, 3073)[:rows]
    return PCA(components, random_state=0).fit_transform(table[:, 1:] / np.float32(255)), table[:, 0].astype(int)


def digits_noisy() -> Rows:
    """Digits under noise of a third of the grey range."""
    X, y = load_digits(return_X_y=True)
    return X + np.random.RandomState(0).normal(scale=6, size=X.shape), y


def digits_imbalanced() -> Rows:
    """Digits whose classes shrink by a quarter each, from 178 rows to 25."""
    X, y = load_digits(return_X_y=True)
    keep = np.concatenate([np.flatnonzero(y == c)[: max(25, int(180 * 0.75**c))] for c in range(10)])
    return X[keep], y[keep]


def clusters(rows: int = 4000) -> Rows:
    """Ten classes in ten informative dimensions of twenty."""
    return make_classification(
        rows, 20, n_informative=10, n_classes=10, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )


def entangled() -> Rows:
    """Three classes of three clusters each among fifty dimensions, with 5 % of the labels wrong."""
    return make_classification(
        4000, 50, n_informative=8, n_classes=3, n_clusters_per_class=3, flip_y=0.05, random_state=1
    )


def imbalanced() -> Rows:
    """Four classes of 70, 20, 6 and 4 percent; the labels are balanced all the same."""
    return make_classification(
        6000, 20, n_informative=8, n_classes=4, n_clusters_per_class=1, weights=[0.7, 0.2, 0.06, 0.04], random_state=2
    )


def blobs() -> Rows:
    """Eight overlapping Gaussian blobs in thirty dimensions."""
    return make_blobs(4000, n_features=30, centers=8, cluster_std=9, random_state=3)


SETS: dict[str, Callable[[], Rows]] = {
    "digits": lambda: load_digits(return_X_y=True),
    "digits, noisy": digits_noisy,
    "digits, imbalanced": digits_imbalanced,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "CIFAR-10, PCA": cifar10_pca,
    "two moons": lambda: make_moons(3000, noise=0.2, random_state=0),
    "blobs": blobs,
    "clusters": clusters,
    "entangled": entangled,
    "imbalanced": imbalanced,
}


@cache
def load(name: str) -> Rows:
    """A set by name, standardized."""
    X, y = SETS[name]()
    return StandardScaler().fit_transform(X), y


def split(y: Any, seed: int, *, per_class: int, unlabeled: int = 3000, test: int = 2000) -> Any:
    """Row numbers: so many labels per class, then a test part (at most a third of the rest), then unlabeled rows."""
    rng = np.random.RandomState(1000 + seed)
    rows = rng.permutation(len(y))
    labeled = np.concatenate([rows[y[rows] == c][:per_class] for c in np.unique(y)])
    rest = rng.permutation(np.setdiff1d(rows, labeled))
    tests = min(test, len(rest) // 3)
    return labeled, rest[tests : tests + unlabeled], rest[:tests]
