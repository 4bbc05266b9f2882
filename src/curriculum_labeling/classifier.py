"""The scikit-learn door: Curriculum Labeling around any classifier.

`CurriculumLabelingClassifier` is a superset of scikit-learn's `SelfTrainingClassifier`: what has
the same name means the same. Its defaults are those that measured best on few labels
(`docs/results/help_not_harm.md`); `CurriculumLabelingClassifier.paper` is the algorithm as published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from curriculum_labeling.estimators.calibration import fit_temperature
from curriculum_labeling.estimators.checks import check_finite
from curriculum_labeling.estimators.ensemble import name_of, round_weights, sum_weighted, weights_beyond_doubt
from curriculum_labeling.estimators.gain import Gain, paired_gain, unmeasured
from curriculum_labeling.estimators.learner import EstimatorLearner, class_probabilities, weight_parameter
from curriculum_labeling.estimators.options import read_options
from curriculum_labeling.estimators.rounds import Course, Run, check_models, member_since, with_accuracies
from curriculum_labeling.estimators.tables import as_table, count_rows, stack, take
from curriculum_labeling.estimators.targets import UNLABELED, Targets, check_targets, read_targets
from curriculum_labeling.estimators.validation import Checked, folds, one_standard_error_round, read_validation_set
from curriculum_labeling.labels import FloatArray, IntArray, Labels
from curriculum_labeling.pacing import shortened


def _estimator_has(*methods: str) -> Any:
    """Whether the estimator, fitted or not, has one of these methods."""

    def check(self: CurriculumLabelingClassifier) -> bool:
        estimator = getattr(self, "estimator_", self.estimator)
        if not any(hasattr(estimator, method) for method in methods):
            raise AttributeError(f"{type(estimator).__name__} has no {' or '.join(methods)}.")
        return True

    return check


class CurriculumLabelingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Self-paced pseudo-labeling around any classifier that scores its predictions.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier with `predict_proba` or `decision_function`. It is cloned.
    criterion : {"percentile", "threshold", "k_best"}, default="percentile"
        How a round chooses rows: a percentile of the confidences that falls by `step` each round,
        a fixed `threshold`, or the `k_best` most confident rows more each round. Every round
        chooses from all unlabeled rows, so a label can be taken back.
    step : float, default=33.4
        Percent of the unlabeled rows by which each round widens; the paper uses 20.
    percentiles : list of float, optional
        An explicit schedule in place of `step`, for example ``[80, 60, 40, 20, 0]``.
    threshold : float, default=0.75
        Lowest confidence that enters, with ``criterion="threshold"``.
    k_best : int, default=10
        Rows added per round, with ``criterion="k_best"``.
    max_iter : int, None or "auto", default="auto"
        Most rounds after round 0; None for no limit. "auto" lets a percentile schedule run to its
        end and stops the other criteria after 10, as in SelfTrainingClassifier.
    balance : {"none", "per-class", "labeled", "estimated"} or list of float, default="none"
        From which classes rows are chosen: the most confident overall, the same share of every
        predicted class, or class shares that follow the labels, the model's scores, or a given
        prior (in the order of `classes_`).
    labeled_weight : float, default=3
        How many pseudo-labels a given label counts for.
    match_classes : bool, default=True
        Weigh pseudo-labels so that each class keeps its share among the labels. Estimators without
        `sample_weight` are given fewer rows of the larger classes instead.
    weigh_by_margin : bool, default=True
        Weigh pseudo-labels by how far the first choice leads the second.
    soft_labels : bool, default=False
        Train on first and second choice, each weighted by its confidence (needs `sample_weight`).
    reinitialize : bool, default=True
        Fit every round from scratch; False fine-tunes (needs `partial_fit` or `warm_start`).
    combine : {"average", "last", "best"}, default="average"
        What is delivered: labels only and the later rounds averaged half and half, the last round,
        or the earliest round within one standard error of the best (needs `validation`).
    validation : None, "auto", float, int or (X, y), default="auto"
        Which labels judge the rounds: none, three folds of a curriculum shortened to its last round
        and to at most 500 unlabeled rows (cheap), a fraction held out, so many folds of the whole
        curriculum, or a set of their own.
    guard : bool, default=True
        Let validation decide where it leaves no doubt (95 %): labels only if the curriculum harmed,
        and for the average, the later rounds alone if it helped.
    random_state : int, RandomState or None, default=None
        Seeds each round's fit and the folds. None leaves the estimator's own randomness alone.
    verbose : bool, default=False
        Print a line per round.

    Attributes
    ----------
    estimator_ : the fitted classifier of the last round delivered
    classes_ : the classes, sorted
    transduction_ : the label of each row in the last round, -1 where it had none; also where an
        earlier round or labels only was delivered
    labeled_iter_ : the round since which a row has been part, 0 if it was labeled, -1 if it is not
    n_iter_ : how many rounds followed round 0; 1 where there was no unlabeled row, as scikit-learn asks
    termination_condition_ : "all_labeled", "no_change" or "max_iter"
    rounds_ : a `RoundRecord` per round: threshold, rows entered, left, flipped, class counts, ...
    gain_ : a `Gain`: accuracy over labels only with its interval; ``print(model.gain_)``
    delivered_ : "average", "later rounds", "labels-only" or the number of the round delivered
    estimators_, estimator_weights_ : what `predict_proba` averages
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: str = "percentile",
        step: float = 33.4,
        percentiles: list[float] | None = None,
        threshold: float = 0.75,
        k_best: int = 10,
        max_iter: int | str | None = "auto",
        balance: Any = "none",
        labeled_weight: float = 3.0,
        match_classes: bool = True,
        weigh_by_margin: bool = True,
        soft_labels: bool = False,
        reinitialize: bool = True,
        combine: str = "average",
        validation: Any = "auto",
        guard: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.step = step
        self.percentiles = percentiles
        self.threshold = threshold
        self.k_best = k_best
        self.max_iter = max_iter
        self.balance = balance
        self.labeled_weight = labeled_weight
        self.match_classes = match_classes
        self.weigh_by_margin = weigh_by_margin
        self.soft_labels = soft_labels
        self.reinitialize = reinitialize
        self.combine = combine
        self.validation = validation
        self.guard = guard
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, estimator: Any, **options: Any) -> CurriculumLabelingClassifier:
        """Algorithm 1 as published: step 20, one cut over all rows, no weights, the last round's model."""
        plain = {"labeled_weight": 1.0, "match_classes": False, "weigh_by_margin": False, "balance": "none"}
        as_published = {"step": 20.0, "combine": "last", "validation": None, "guard": False}
        return cls(estimator, **{**plain, **as_published, **options})

    def fit(
        self, X: Any, y: Any, *, X_unlabeled: Any = None, sample_weight: Any = None, **params: Any
    ) -> CurriculumLabelingClassifier:
        """Learn from rows with labels and rows without.

        Parameters
        ----------
        X : table of shape (n, ...)
            Array, sparse matrix, pandas or polars frame, or list; whatever `estimator` takes.
        y : array of shape (n,)
            Labels, -1 where unlabeled; for strings and objects also None and NaN.
        X_unlabeled : table, optional
            More unlabeled rows.
        sample_weight : array of shape (n,), optional
            Weights of the rows of X, for estimators that take them.
        **params
            Routed to `estimator.fit` where metadata routing is enabled.
        """
        pacing, weighting = read_options(self)
        X, targets = self._read(X, y, X_unlabeled)
        check_targets(targets)
        own, fit_params = self._weights_and_params(X, count_rows(y), sample_weight, params)
        learner = EstimatorLearner(
            self.estimator,
            X,
            targets.classes,
            weighting=weighting,
            soft=self.soft_labels,
            own_weights=own,
            seeded=self.random_state is not None,
            fit_params=fit_params,
        )
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        rng = np.random.default_rng([seed, 1])
        labels = Labels.of(targets.labeled, targets.codes[targets.labeled])
        if not hasattr(self.estimator, "predict_proba"):
            learner = replace(learner, temperature=fit_temperature(learner, labels, rng))
        course = Course(learner, pacing, seed, self.reinitialize, bool(self.verbose))
        run, checked = self._run(
            course, labels, targets.unlabeled if self.max_iter != 0 else targets.unlabeled[:0], rng
        )
        self._conclude(run, checked, targets)
        return self

    def _run(
        self, course: Course, labels: Labels, unlabeled: IntArray, rng: np.random.Generator
    ) -> tuple[Run, Checked | None]:
        """Run the rounds, and check them on whatever `validation` holds out."""
        X, classes = course.learner.X, course.learner.classes
        if self.validation is None or not len(unlabeled):
            return course.run(labels, unlabeled), None
        if isinstance(self.validation, tuple):
            X_check, codes = read_validation_set(self.validation, classes)
            run = course.run(labels, unlabeled)
            return run, check_models(run.models, X_check, codes, self.combine)
        quiet, parts = replace(course, verbose=False), []
        if self._shortens():
            quiet = replace(quiet, pacing=shortened(course.pacing))
        for fold in folds(labels, unlabeled, self.validation, rng):
            train = Labels.of(labels.rows[fold.train], labels.classes[fold.train])
            held_out = isinstance(self.validation, float | np.floating)
            run = (course if held_out else quiet).run(train, fold.unlabeled)
            check = take(X, labels.rows[fold.check])
            parts.append(check_models(run.models, check, labels.classes[fold.check], self.combine))
            if held_out:
                return run, parts[0]
        return course.run(labels, unlabeled), Checked.pooled(parts) if parts else None

    def _conclude(self, run: Run, checked: Checked | None, targets: Targets) -> None:
        """Choose what to deliver, and write down the results."""
        best = one_standard_error_round(checked) if checked and self.combine == "best" else None
        weights = round_weights(len(run.models), self.combine, None if best is None else min(best, len(run.models) - 1))
        self.gain_ = self._gain(checked, best, targets)
        if self.guard and self.gain_.helped is not None:
            weights = weights_beyond_doubt(weights, helped=self.gain_.helped)
        self.delivered_ = name_of(weights)
        self.estimators_ = [model.estimator for model, weight in zip(run.models, weights, strict=True) if weight]
        self.estimator_weights_ = np.array([weight for weight in weights if weight])
        self.estimator_ = self.estimators_[-1]
        self.temperature_ = run.models[0].temperature
        self.classes_ = targets.classes
        self.rounds_ = with_accuracies(run, checked, shortened=self._shortens())
        self.n_iter_ = max(1, len(run.models) - 1)
        self.termination_condition_ = run.ended
        codes = targets.codes.copy()
        codes[run.labels[-1].pseudo_rows] = run.labels[-1].pseudo_classes
        self.transduction_ = targets.decode(codes)
        self.labeled_iter_ = member_since(run, targets)

    def _shortens(self) -> bool:
        """Whether folds run a shortened curriculum; "best" needs every round judged."""
        return isinstance(self.validation, str) and self.combine != "best"

    def _gain(self, checked: Checked | None, best: int | None, targets: Targets) -> Gain:
        if not len(targets.unlabeled):
            return unmeasured("there was no unlabeled row, so this is labels only")
        if self.max_iter == 0:
            return unmeasured("max_iter is 0, so this is labels only")
        if self.validation is None:
            return unmeasured("validation is None; pass validation=5, or held-out rows as validation=(X, y)")
        if checked is None:
            return unmeasured("every class has a single label, so none can be held out")
        return paired_gain(checked.rounds[0], checked.combined if best is None else checked.rounds[best])

    def predict(self, X: Any, **params: Any) -> Any:
        """The most probable class of each row, shape (n,)."""
        X = self._checked_rows(X)
        if len(self.estimators_) == 1:
            return self.estimator_.predict(X, **self._routed("predict", params))
        return self.classes_[self._probabilities(X, params).argmax(axis=1)]

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> FloatArray:
        """Class probabilities, shape (n, C), in the order of `classes_`."""
        X = self._checked_rows(X)
        return self._probabilities(X, params)

    @available_if(_estimator_has("predict_log_proba", "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, **params: Any) -> FloatArray:
        """Logarithms of the class probabilities, shape (n, C)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, **params)))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> FloatArray:
        """The estimator's decision values; of an average, the log-odds (two classes) or log-probabilities."""
        X = self._checked_rows(X)
        if len(self.estimators_) == 1:
            return np.asarray(self.estimator_.decision_function(X, **self._routed("decision_function", params)))
        log_p = np.log(np.maximum(self._probabilities(X, params), np.finfo(float).tiny))
        return np.asarray(log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p)

    def get_metadata_routing(self) -> Any:
        """How metadata reaches the estimator; see scikit-learn's user guide."""
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="score", callee="score")
        for method in ("predict", "predict_proba", "decision_function"):
            mapping = mapping.add(caller=method, callee=method)
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            if inner.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _checked_rows(self, X: Any) -> Any:
        """Rows to predict, with the columns of the training rows; the estimator judges anything else."""
        check_is_fitted(self)
        X = as_table(X)
        if not (isinstance(X, np.ndarray) and X.ndim == 1):
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _probabilities(self, X: Any, params: dict[str, Any]) -> FloatArray:
        method = "predict_proba" if hasattr(self.estimator_, "predict_proba") else "decision_function"
        routed = self._routed(method, params)
        return sum_weighted(
            [class_probabilities(e, X, self.classes_, self.temperature_, **routed) for e in self.estimators_],
            tuple(self.estimator_weights_),
        )

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        _raise_for_params(params, self, method)
        if not params:
            return {}
        routed: dict[str, Any] = process_routing(self, method, **params).estimator[method]
        return routed

    def _read(self, X: Any, y: Any, X_unlabeled: Any) -> tuple[Any, Targets]:
        """One table and what is known of its rows."""
        targets = read_targets(y)
        check_consistent_length(X, targets.codes)
        if X_unlabeled is not None:
            X = stack(X, X_unlabeled)
            more = np.full(count_rows(X) - len(targets.codes), UNLABELED)
            targets = replace(targets, codes=np.concatenate([targets.codes, more]))
        validate_data(self, X, skip_check_array=True)
        X = as_table(X)
        check_finite(X, self.estimator)
        return X, targets

    def _weights_and_params(
        self, X: Any, given: int, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[FloatArray | None, dict[str, Any]]:
        """The rows' own weights, one per row of X, and what is routed to the estimator's fit."""
        _raise_for_params(params, self, "fit")
        if sample_weight is not None and weight_parameter(self.estimator) is None:
            raise ValueError(
                f"sample_weight was given, but the fit of {type(self.estimator).__name__} takes none; leave it out."
            )
        if _routing_enabled() and (params or sample_weight is not None):
            weighted = params if sample_weight is None else {**params, "sample_weight": sample_weight}
            params = dict(process_routing(self, "fit", **weighted).estimator.fit)
            sample_weight = params.pop("sample_weight", None)
        if sample_weight is None:
            return None, params
        own = np.ones(count_rows(X))
        own[:given] = _check_sample_weight(sample_weight, np.zeros((given, 1)), ensure_non_negative=True)
        return own, params
