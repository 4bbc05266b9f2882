"""The image learner: uint8 images and labels in, a trained model that scores rows out.

`ImageLearner.fit` builds a new network each time, so every round starts from scratch by
construction. `FineTuningImageLearner`, for the ablation of Table 7, starts from its last model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from curriculum_labeling.data.images import Images, PixelArray
from curriculum_labeling.data.progress import Progress, Tell
from curriculum_labeling.labels import FloatArray, IntArray, Labels, Scores
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.batches import Batches
from curriculum_labeling.vision.checkpoint import Checkpoints, Store, load_together
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.devices import choose_device, numbers_for
from curriculum_labeling.vision.distributed import current_group
from curriculum_labeling.vision.feed import Feed
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.pretext import (
    LEARNED,
    TRIED_IMAGES,
    TURNS,
    TurnedPixels,
    trial_and_training,
    turns_of,
    without_last_layer,
)
from curriculum_labeling.vision.recipe import Recipe, build_recipe
from curriculum_labeling.vision.scoring import Scorer
from curriculum_labeling.vision.training import Trained, Watch, train
from curriculum_labeling.vision.whitening import Preprocessing, Standardization, fit_standardization, fit_whitening

# Rows from which preprocessing is fitted, at most: more of them change nothing that counts.
STANDARDIZATION_ROWS, WHITENING_ROWS = 10_000, 50_000
# Pixels that a network sees before training, if it has an `adapt`: 1,953 images of 32 × 32.
ADAPTATION_PIXELS = 2_000_000

Doing = Literal["training", "scoring"]


class ImageModel:
    """A trained network over one set of images; its weights are the averaged ones where averaging was asked for."""

    def __init__(self, images: Images, scorer: Scorer, seconds: float = 0.0) -> None:
        self.images = images
        self.scorer = scorer
        # How long training took, restarts included, and how many images went through it where that is known.
        self.seconds = seconds
        self.passes: int | None = None

    def score(self, rows: IntArray) -> Scores:
        """Class, confidence and runner-up of these rows of the images."""
        return self.scorer.score(self.images.pixels, rows, current_group())

    def score_share(self, rows: IntArray) -> Scores:
        """The same of this process's share of these rows only, for `curriculum(group=…)`."""
        return self.scorer.score_share(self.images.pixels, rows, current_group())

    def logits(self, pixels: PixelArray) -> FloatArray:
        """Logits (n, classes) of uint8 images of shape (n, H, W, C)."""
        return self.scorer.logits(pixels)

    def probabilities(self, pixels: PixelArray) -> FloatArray:
        """Class probabilities (n, classes) of uint8 images of shape (n, H, W, C)."""
        probabilities: FloatArray = torch.from_numpy(self.logits(pixels)).softmax(dim=1).numpy()
        return probabilities

    def state_dict(self) -> dict[str, Tensor]:
        """The weights and batch-norm statistics that the model scores with."""
        return self.scorer.network.state_dict()


class ImageLearner:
    """Trains a new network on labeled rows of one set of images.

    Parameters
    ----------
    images : Images
        The one index space that labels refer to.
    config : TrainingConfig
        How each model is trained.
    checkpoints : Checkpoints or path, optional
        Where to keep progress. A learner made again with the same arguments continues where the last
        one was stopped, and finished fits are read back.
    device : str or torch.device
        "auto" takes CUDA, then MPS, then the CPU.
    preprocess_rows : int array, optional
        Rows that standardization or whitening is fitted on; all, unless given. Leave test rows out.
    watch : function, optional
        Called with an `Epoch` after every epoch.
    progress : function, optional
        Called about once a second with "training" or "scoring" and its `Progress`, in steps or in rows.
    stop : function, optional
        Asked after every step; where it says True, progress is saved and a KeyboardInterrupt raised.
    """

    def __init__(
        self,
        images: Images,
        config: TrainingConfig | None = None,
        *,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
        device: str | torch.device = "auto",
        preprocess_rows: IntArray | None = None,
        watch: Watch | None = None,
        progress: Callable[[Doing, Progress], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self.images = images
        self.config = config if config is not None else TrainingConfig()
        self.checkpoints = _checkpoints(checkpoints)
        self.device = choose_device(device)
        numbers_for(self.device, self.config.precision)
        if self.config.flip_scoring and not images.flippable:
            raise ValueError("flip_scoring must be off for images that are not flippable, such as digits; got True.")
        self.watch = watch
        self.progress = progress
        self.stop = stop
        # How many models were fitted: under `curriculum` that is the number of the round.
        self.fits = 0
        # Weights that every network starts from where it has some of these names; fresh ones where there are none.
        self.start: dict[str, Tensor] = {}
        rows = np.arange(len(images)) if preprocess_rows is None else np.asarray(preprocess_rows)
        self.preprocessing = _fit_preprocessing(images.pixels, rows, self.config.whitening)
        self._adaptation_rows = spread(rows, max(1, ADAPTATION_PIXELS // (images.pixels[0, ..., 0].size)))

    @property
    def recipe(self) -> Recipe:
        """How images are augmented, by the settings as they are now."""
        return _recipe(self.config.augmentation, self.preprocessing, self.images.flippable)

    def fit(self, labels: Labels, *, seed: int) -> ImageModel:
        """A new model, from fresh weights, or the rest of one from its last checkpoint."""
        _check_labels(labels, self.images)
        trained = self._trained(self._network(seed), self._feed(labels, seed), self._tell("training"))
        self.fits += 1
        return self._model(trained)

    def learn_turns(self, rows: IntArray, *, seed: int) -> float:
        """Learn from these rows which way up images are; fits start from there, but for their last layer.

        Returns the share of turns told right. Where that is hardly more than a guess, fits start from
        fresh weights as before; of a long training, the first tenth finds that out and is all there is.
        """
        settings = self.config
        try:
            parts = trial_and_training(settings.budget)
            for number, budget in enumerate(parts):
                self.config = replace(settings, budget=budget)
                around = (sum(b.steps or 0 for b in others) for others in (parts[:number], parts[number + 1 :]))
                trained, right = self._train_on_turns(rows, seed, self._tell("training", *around))
                if right < LEARNED:
                    break
        finally:
            self.config = settings
        weights = trained.network.state_dict() if right >= LEARNED else {}
        self.start = without_last_layer(lambda classes: self._network(seed, classes), weights)
        return right

    def _train_on_turns(self, rows: IntArray, seed: int, tell: Tell | None) -> tuple[Trained, float]:
        turned = TurnedPixels(self.images.pixels)
        feed = replace(self._feed(turns_of(rows), seed), pixels=turned, classes=TURNS)
        trained = self._trained(self._network(seed, TURNS), feed, tell)
        tried = TURNS * spread(rows, TRIED_IMAGES)
        tried += np.arange(len(tried)) % TURNS
        return trained, float((self._model(trained).logits(turned[tried]).argmax(axis=1) == tried % TURNS).mean())

    def _trained(self, network: nn.Module, feed: Feed, tell: Tell | None) -> Trained:
        """The network trained, or read back where it was before."""
        network = network.to(self.device)
        if self.config.channels_last:
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        store = None if self.checkpoints is None else Store(self.checkpoints, self._fingerprint(feed, network))
        saved = load_together(store, feed.group)
        if saved is not None and saved.progress["finished"]:
            network.load_state_dict(saved.tensors)
            return Trained(network.eval(), saved.progress["seconds"])
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            trained = train(
                network, feed, store=store, watch=self.watch, tell=tell, round_number=self.fits, stop=self.stop
            )
        if store is not None and feed.group.rank == 0:
            store.save("model", trained.network.state_dict(), {"finished": True, "seconds": trained.seconds})
        return trained

    def _tell(self, doing: Doing, before: int = 0, after: int = 0) -> Tell | None:
        """Whom to tell of this work, which may be a part of a longer one."""
        progress = self.progress
        if progress is None:
            return None
        return lambda p: progress(doing, replace(p, done=before + p.done, total=before + p.total + after))

    def _network(self, seed: int, classes: int | None = None) -> nn.Module:
        """A network to begin with; for other classes than the images' own, where so many are given."""
        height, width, channels = self.images.pixels.shape[1:]
        weights = draws.key(seed, "weights") % 2**63
        count = len(self.images.classes) if classes is None else classes
        network = build_network(self.config.network, count, channels, min(height, width), seed=weights)
        adapt = getattr(network, "adapt", None)
        if callable(adapt):
            pixels = torch.from_numpy(self.images.pixels[self._adaptation_rows]).permute(0, 3, 1, 2)
            adapt(self.preprocessing(pixels.contiguous()))
        if classes is None:
            network.load_state_dict({**network.state_dict(), **self.start})
        return network

    def _feed(self, labels: Labels, seed: int) -> Feed:
        batches = Batches(labels, self.config.batch_size, seed, self.config.labeled_share)
        classes = len(self.images.classes)
        parts = (self.recipe, self.preprocessing, self.device, current_group())
        return Feed(self.images.pixels, batches, self.config, classes, *parts)

    def _model(self, trained: Trained) -> ImageModel:
        settings = self.config
        scorer = Scorer(
            trained.network,
            self.preprocessing,
            self.device,
            settings.score_batch,
            settings.flip_scoring,
            settings.channels_last,
            self._tell("scoring"),
        )
        return ImageModel(self.images, scorer, trained.seconds)

    def _fingerprint(self, feed: Feed, network: nn.Module) -> str:
        """A name that differs wherever labels, seed, settings, images or starting weights do."""
        mark, labels = blake2b(digest_size=8), feed.batches.labels
        settings = sorted(self.config.describe().items())
        mark.update(repr((feed.batches.seed, settings, self.images.pixels.shape)).encode())
        soft = (labels.confidence, labels.runner_up, labels.runner_up_confidence)
        for array in (labels.rows, labels.classes, np.array(labels.given), *soft):
            mark.update(np.ascontiguousarray(array).tobytes())
        for tensor in (*network.state_dict().values(), *self.preprocessing.tensors().values()):
            mark.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return f"{len(labels):07d}-rows-{mark.hexdigest()}"


class FineTuningImageLearner(ImageLearner):
    """A learner that remembers: each fit starts from the weights of the one before."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._last: dict[str, Tensor] | None = None

    def fit(self, labels: Labels, *, seed: int) -> ImageModel:
        """A model trained on from the last one; the optimizer starts afresh."""
        model = super().fit(labels, seed=seed)
        self._last = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        return model

    def _network(self, seed: int, classes: int | None = None) -> nn.Module:
        network = super()._network(seed, classes)
        if self._last is not None and classes is None:
            network.load_state_dict(self._last)
        return network


def _checkpoints(given: Checkpoints | str | os.PathLike[str] | None) -> Checkpoints | None:
    return given if given is None or isinstance(given, Checkpoints) else Checkpoints(Path(given))


def _check_labels(labels: Labels, images: Images) -> None:
    """Refuse labels that do not fit the images, before any training."""
    if not len(labels):
        raise ValueError("labels must hold at least one row to train on, got none.")
    if labels.rows.min() < 0 or labels.rows.max() >= len(images):
        raise ValueError(
            f"labels must name rows from 0 to {len(images) - 1}, got {labels.rows.min()} to {labels.rows.max()}."
        )
    if labels.classes.min() < 0 or labels.classes.max() >= len(images.classes):
        raise ValueError(
            f"labels must be classes from 0 to {len(images.classes) - 1}, "
            f"got {labels.classes.min()} to {labels.classes.max()}; images.classes names {len(images.classes)}."
        )


def _fit_preprocessing(pixels: PixelArray, rows: IntArray, whitening: bool) -> Preprocessing:
    most = WHITENING_ROWS if whitening else STANDARDIZATION_ROWS
    fit = fit_whitening if whitening else fit_standardization
    return fit(pixels.transpose(0, 3, 1, 2), spread(rows, most))


def spread(rows: IntArray, most: int) -> IntArray:
    """At most so many of these rows, at equal distances."""
    return rows[:: max(1, -(-len(rows) // most))]


def _recipe(augmentation: str | Recipe, preprocessing: Preprocessing, flippable: bool) -> Recipe:
    """The recipe of this name, filling with the mean color where preprocessing knows one."""
    if isinstance(augmentation, Recipe):
        return augmentation
    fill = preprocessing.fill if isinstance(preprocessing, Standardization) else (0,)
    return build_recipe(augmentation, flippable=flippable, fill=fill)
