"""How confidences are distributed, and whether they follow the Pareto law that the paper names for its percentiles.

The highest values beyond a threshold are fitted by maximum likelihood with a Pareto law, the
generalized Pareto law of extreme value theory, and their rivals. AIC compares the fits with each
other; the Kolmogorov-Smirnov distance, with a p-value by parametric bootstrap, asks of each whether
the rows could have come from it at all. Figures are in `tails_figure.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from curriculum_labeling.labels import FloatArray

FEWEST_ROWS = 10
# The likelihood of the generalized Pareto law has no maximum below a shape of -1.
LOWEST_SHAPE = -1.0
# Each look at a finer grid around the best point so far is fifteen times as precise; there are no derivatives to fail.
ZOOMS = 5


@dataclass(frozen=True)
class Law:
    """A fitted distribution of excesses over the threshold: parameters, their standard errors, and scipy's object."""

    parameters: dict[str, float]
    errors: dict[str, float]
    distribution: Any


@dataclass(frozen=True)
class TailFit:
    """How well one law fits a tail.

    `distance` is the largest gap between the two distribution functions; `p_value` is the share of
    samples from the fitted law, each fitted anew, that lie at least as far from their fit.
    """

    law: str
    parameters: dict[str, float]
    errors: dict[str, float]
    aic: float
    distance: float
    p_value: float
    distribution: Any


@dataclass(frozen=True)
class Tail:
    """The values beyond a threshold, as excesses over it, and what was fitted to them.

    `saturated` counts rows whose value is infinite (confidence 1 exactly): they are left out of the
    tail. `tied` counts rows of the tail that share their value with another.
    """

    threshold: float
    excesses: FloatArray
    saturated: int
    tied: int
    fits: tuple[TailFit, ...]

    @property
    def best(self) -> TailFit:
        """The fit with the lowest AIC, whether or not it is any good."""
        return min(self.fits, key=lambda fit: fit.aic)

    def fit(self, law: str) -> TailFit:
        """The fit of this law."""
        return next(fit for fit in self.fits if fit.law == law)


def confidence(log_confidence: FloatArray) -> FloatArray:
    """The highest class probability itself, at most 1."""
    return np.asarray(np.exp(log_confidence))


def inverse_doubt(log_confidence: FloatArray) -> FloatArray:
    """1 / (1 - confidence), nearly the odds, precise where the confidence has rounded to 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.abs(np.expm1(log_confidence)))


def log_inverse_doubt(log_confidence: FloatArray) -> FloatArray:
    """-log(1 - confidence): has an exponential tail where 1 / (1 - confidence) has a Pareto tail."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.abs(np.expm1(log_confidence))))


SCORES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "c": confidence,
    "1/(1−c)": inverse_doubt,
    "−log(1−c)": log_inverse_doubt,
}


def fit_tail(
    values: FloatArray, *, share: float = 0.2, upper: float | None = None, bootstrap: int = 199, seed: int = 0
) -> Tail:
    """Fit every law to the highest `share` of the values.

    Parameters
    ----------
    values : float array of shape (n,)
        Infinite ones are counted as saturated and left out.
    share : float
        Share of the values in the tail; the threshold is the highest value not in it. Values equal
        to the threshold are no excess.
    upper : float, optional
        Where the values end, 1 for confidences: the beta law needs to know.
    bootstrap : int
        Samples behind each p-value; 0 for none (NaN).
    seed : int
        Of the bootstrap.
    """
    finite, saturated = _finite(values)
    threshold, excesses = _excesses(finite, share)
    end = None if upper is None else upper - threshold
    fits = []
    for number, (name, law) in enumerate(LAWS.items()):
        if (name == "beta" and end is None) or (name == "Pareto" and threshold <= 0):
            continue
        fits.append(_fit(name, law, excesses, threshold, end, bootstrap, np.random.default_rng((seed, number))))
    _, counts = np.unique(excesses, return_counts=True)
    return Tail(threshold, excesses, saturated, int(counts[counts > 1].sum()), tuple(fits))


def top_share(values: FloatArray, share: float = 0.2) -> float:
    """How much of the sum of all finite values the highest `share` of them hold: 0.8 of it under an 80/20 rule."""
    finite = np.sort(_finite(values)[0])
    if not len(finite) or finite[0] < 0 or not finite.sum():
        raise ValueError(f"values must be at least 0 and not all 0, got {len(finite)} finite ones.")
    held = finite[len(finite) - round(share * len(finite)) :].sum()
    return float(held / finite.sum())


def fit_pareto(excesses: FloatArray, threshold: float, _: float | None) -> Law:
    """Values x beyond the threshold u with P(X > x) = (u/x)^α: Hill's estimator."""
    alpha = 1.0 / np.log1p(excesses / threshold).mean()
    found = stats.pareto(alpha, loc=-threshold, scale=threshold)
    return Law({"α": float(alpha)}, {"α": float(alpha / np.sqrt(len(excesses)))}, found)


def fit_generalized_pareto(excesses: FloatArray, _: float, __: float | None) -> Law:
    """Shape ξ, at least -1, and scale σ, by the profile likelihood in ξ/σ: one dimension instead of two."""
    n, mean, top = len(excesses), excesses.mean(), excesses.max()
    # ξ/σ is above -1/max, where the law ends at the highest excess; steps are fine on both sides of 0.
    low = -np.expm1(-np.geomspace(1e-4, 12, 60)) / top
    high = np.geomspace(1e-4 / mean, 1e4 / np.median(excesses), 120)
    grid = np.concatenate([-low[::-1], high])
    for _step in range(ZOOMS):
        best = int(_profile(grid, excesses)[1].argmax())
        ratio = grid[best]
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 31)
    (shape,), (likelihood,) = _profile(np.array([ratio]), excesses)
    scale = shape / ratio if abs(shape) > 1e-9 else mean
    # At a shape of -1 the law is uniform, and likeliest where it ends at the highest excess.
    if likelihood <= -n * np.log(top):
        shape, scale = LOWEST_SHAPE, top
    # The usual errors hold above -1/2; below, the end of the law is known better than that.
    errors = {"ξ": float((1 + shape) / np.sqrt(n)), "σ": float(scale * np.sqrt(2 * (1 + shape) / n))}
    return Law({"ξ": float(shape), "σ": float(scale)}, errors, stats.genpareto(shape, 0, scale))


def fit_exponential(excesses: FloatArray, _: float, __: float | None) -> Law:
    """The generalized Pareto law of shape 0."""
    scale = float(excesses.mean())
    return Law({"σ": scale}, {"σ": scale / np.sqrt(len(excesses))}, stats.expon(0, scale))


def fit_lognormal(excesses: FloatArray, _: float, __: float | None) -> Law:
    """Excesses whose logarithms are normal."""
    logs, n = np.log(excesses), len(excesses)
    mean, spread = float(logs.mean()), max(float(logs.std()), 1e-9)
    errors = {"μ": spread / np.sqrt(n), "s": spread / np.sqrt(2 * n)}
    return Law({"μ": mean, "s": spread}, errors, stats.lognorm(spread, 0, np.exp(mean)))


def fit_beta(excesses: FloatArray, _: float, end: float | None) -> Law:
    """Excesses as shares of the way to the end; a row at the very end counts as just before it."""
    assert end is not None, "the beta law needs an end"
    x = np.clip(excesses / end, 1e-12, 1 - 1e-12)
    near, far = np.log(x).mean(), np.log1p(-x).mean()

    def loss(logs: FloatArray) -> float:
        a, b = np.exp(logs)
        return float(special.betaln(a, b) - (a - 1) * near - (b - 1) * far)

    start = np.log(_beta_by_moments(x))
    a, b = np.exp(optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-9}).x)
    shared = special.polygamma(1, a + b)
    information = len(x) * np.array(
        [[special.polygamma(1, a) - shared, -shared], [-shared, special.polygamma(1, b) - shared]]
    )
    errors = np.sqrt(np.diag(np.linalg.pinv(information)))
    parameters = {"a": float(a), "b": float(b)}
    return Law(parameters, dict(zip(parameters, errors.tolist(), strict=True)), stats.beta(a, b, 0, end))


Fitter = Callable[[FloatArray, float, float | None], Law]
LAWS: dict[str, Fitter] = {
    "Pareto": fit_pareto,
    "generalized Pareto": fit_generalized_pareto,
    "exponential": fit_exponential,
    "lognormal": fit_lognormal,
    "beta": fit_beta,
}


def _fit(
    name: str,
    fit: Fitter,
    excesses: FloatArray,
    threshold: float,
    end: float | None,
    bootstrap: int,
    rng: np.random.Generator,
) -> TailFit:
    law = fit(excesses, threshold, end)
    distance = _distance(law, excesses)
    farther = 0
    for _ in range(bootstrap):
        sample = np.maximum(law.distribution.rvs(len(excesses), random_state=rng), np.finfo(float).tiny)
        farther += _distance(fit(sample, threshold, end), sample) >= distance
    p_value = (1 + farther) / (1 + bootstrap) if bootstrap else float("nan")
    likelihood = float(law.distribution.logpdf(_inside(law, excesses)).sum())
    aic = 2 * len(law.parameters) - 2 * likelihood
    return TailFit(name, law.parameters, law.errors, aic, distance, p_value, law.distribution)


def _inside(law: Law, excesses: FloatArray) -> FloatArray:
    """Excesses kept off the end of a bounded law by rounding's width: a density may be 0 or infinite there."""
    end = law.distribution.support()[1]
    return np.minimum(excesses, end * (1 - 1e-12)) if np.isfinite(end) else excesses


def _distance(law: Law, excesses: FloatArray) -> float:
    """The Kolmogorov-Smirnov distance; rows that are tied count as one step, not as a staircase."""
    steps, counts = np.unique(excesses, return_counts=True)
    after = np.cumsum(counts) / len(excesses)
    before = after - counts / len(excesses)
    expected = law.distribution.cdf(steps)
    return float(np.maximum(np.abs(after - expected), np.abs(expected - before)).max())


def _profile(ratios: FloatArray, excesses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each ξ/σ, the best shape ξ and the log-likelihood there; none where the shape is too low."""
    shapes = np.log1p(ratios[:, None] * excesses).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = np.where(np.abs(ratios) > 1e-300, shapes / ratios, excesses.mean())
        likelihoods = -len(excesses) * (np.log(scales) + shapes + 1)
    return shapes, np.where(shapes >= LOWEST_SHAPE, likelihoods, -np.inf)


def _beta_by_moments(x: FloatArray) -> FloatArray:
    mean, variance = x.mean(), max(float(x.var()), 1e-12)
    strength = max(mean * (1 - mean) / variance - 1, 1e-2)
    return np.array([mean * strength, (1 - mean) * strength])


def _finite(values: FloatArray) -> tuple[FloatArray, int]:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise ValueError(f"values must be a list of numbers without NaN, got shape {values.shape}.")
    saturated = np.isposinf(values)
    return values[~saturated], int(saturated.sum())


def _excesses(finite: FloatArray, share: float) -> tuple[float, FloatArray]:
    """The threshold, and how far the values beyond it lie beyond it."""
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share}.")
    ordered = np.sort(finite)
    count = round(share * len(ordered))
    threshold = float(ordered[max(len(ordered) - count - 1, 0)]) if len(ordered) else float("nan")
    excesses = ordered[ordered > threshold] - threshold
    if len(np.unique(excesses)) < FEWEST_ROWS:
        raise ValueError(
            f"the tail must hold at least {FEWEST_ROWS} different values beyond its threshold, got"
            f" {len(np.unique(excesses))} from {len(finite)} finite values; take more rows or a larger share."
        )
    return threshold, excesses
