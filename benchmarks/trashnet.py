"""TrashNet with 20 labels a class, both ways to learn, from the command line only.

Run: python benchmarks/trashnet.py --data DIR --work DIR [--seeds 3] [--minutes 15]
A fifth of the photos of each class is held out as a test that no run sees; the others are unlabeled,
but for 20 of each class. Finished runs are kept in the work folder and not run again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "trashnet.md"
LABELED, TEST_SHARE = 20, 0.2
WAYS = {"features": ["--features", "efficientnet-lite0"], "network": ["--features", "none"]}


@dataclass(frozen=True)
class Line:
    """One run: accuracies are shares on the test photos, for labels only and for what was delivered."""

    way: str
    seed: int
    labels_only: float
    delivered: float
    round: int
    rounds: tuple[float, ...]
    verdict: str
    seconds: float


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with one folder per class")
    parser.add_argument("--work", type=Path, required=True, help="where photos are laid out and runs are kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--network-seeds", type=int, default=1, help="seeds of the network trained from scratch")
    parser.add_argument("--minutes", type=float, default=15, help="time of a network's run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def lay_out(data: Path, folder: Path, seed: int) -> None:
    """Links: labeled/<class>/, unlabeled/, test/, and truth.csv with the classes of the last two."""
    rng, truth = np.random.default_rng(seed), []
    for source in sorted(path for path in data.iterdir() if path.is_dir()):
        files = [sorted(source.iterdir())[i] for i in rng.permutation(len(list(source.iterdir())))]
        held = round(TEST_SHARE * len(files))
        parts = {"test": files[:held], f"labeled/{source.name}": files[held : held + LABELED]}
        for name, part in {**parts, "unlabeled": files[held + LABELED :]}.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for file in part:
                os.symlink(file.resolve(), folder / name / file.name)
                if not name.startswith("labeled"):
                    truth.append((f"{name}/{file.name}", source.name))
    with open(folder / "truth.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("path", "label"), *truth])


def curriculum(*command: str) -> None:
    """Run the command as a user does."""
    subprocess.run([sys.executable, "-m", "curriculum_labeling.cli", *command], check=True)


def run(way: str, seed: int, options: argparse.Namespace) -> Line:
    """One fit and its predictions for the test photos."""
    folder = options.work / f"seed-{seed}"
    if not (folder / "truth.csv").is_file():
        lay_out(options.data, folder, seed)
    out = folder / way
    if not (out / "config.json").is_file():
        extra = ["--minutes", str(options.minutes)] if way == "network" else []
        parts = [str(folder / "labeled"), str(folder / "unlabeled"), "--out", str(out), "--seed", str(seed)]
        truth = ["--truth", str(folder / "truth.csv"), "--threads", str(options.threads)]
        curriculum("fit", *parts, *truth, *WAYS[way], *extra)
    elif not (out / "outcome.json").is_file():
        curriculum("resume", str(out))
    return measure(way, seed, folder, out)


def measure(way: str, seed: int, folder: Path, out: Path) -> Line:
    """Test accuracy of the delivered model, and what the run itself said."""
    predictions = folder / f"{way}.csv"
    curriculum("predict", str(out), str(folder / "test"), "--out", str(predictions))
    with open(folder / "truth.csv", newline="", encoding="utf-8") as file:
        truth = {Path(path).name: label for path, label in list(csv.reader(file))[1:]}
    with open(predictions, newline="", encoding="utf-8") as file:
        found = [(Path(line["path"]).name, line["label"]) for line in csv.DictReader(file)]
    accuracy = float(np.mean([truth[name] == label for name, label in found]))
    outcome = json.loads((out / "outcome.json").read_text())
    rounds = [json.loads((out / f"rounds/{t}/metrics.json").read_text()) for t in range(outcome["last"] + 1)]
    on_unlabeled = tuple(one["truth_accuracy"] for one in rounds)
    return Line(
        way,
        seed,
        on_unlabeled[0],
        accuracy,
        outcome["delivered"],
        on_unlabeled,
        outcome["verdict"],
        outcome["seconds"],
    )


def table(lines: list[Line]) -> str:
    """A Markdown table, one line per run."""
    rows = [
        "| way | seed | test accuracy, delivered | delivered round | accuracy on unlabeled photos, round by round "
        "| what the run said | minutes |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in lines:
        rounds = ", ".join(f"{100 * a:.1f}" for a in one.rounds)
        rows.append(
            f"| {one.way} | {one.seed} | {one.delivered:.1%} | {one.round} | {rounds} | {one.verdict} "
            f"| {one.seconds / 60:.1f} |"
        )
    return "\n".join(rows)


def summary(lines: list[Line]) -> str:
    """Mean and standard deviation per way."""
    texts = []
    for way in WAYS:
        own = [one for one in lines if one.way == way]
        if own:
            accuracy = [100 * one.delivered for one in own]
            gain = [100 * (one.rounds[one.round] - one.labels_only) for one in own]
            texts.append(
                f"- **{way}**: test accuracy {np.mean(accuracy):.1f} ± {np.std(accuracy):.1f} %, "
                f"{np.mean(gain):+.1f} ± {np.std(gain):.1f} points over labels only on the unlabeled photos "
                f"(n = {len(own)})."
            )
    return "\n".join(texts)


def main() -> None:
    """All runs; the page is rewritten after each."""
    options, lines = arguments(), []
    seeds = {"features": options.seeds, "network": options.network_seeds}
    for way in WAYS:
        for seed in range(seeds[way]):
            lines.append(run(way, seed, options))
            options.out.write_text(
                f"""# TrashNet, 20 labels a class, from the command line

2,527 photos of 6 kinds of waste; 20 labels a class, a fifth of each class held out as a test, the rest unlabeled.
Round 0 is labels only. Machine: {os.cpu_count()} cores, no accelerator, {options.threads} threads.

{summary(lines)}

{table(lines)}

Again: `python benchmarks/trashnet.py --data DIR --work DIR --seeds {options.seeds} --network-seeds \
{options.network_seeds} --minutes {options.minutes:g} --threads {options.threads}`
""",
                encoding="utf-8",
            )


if __name__ == "__main__":
    main()
