"""Trajectories grouped by their action pattern.

Character n-grams (1 to 3) weighted by TF-IDF, reduced by a truncated SVD (latent semantic analysis, Deerwester et al.
1990, doi:10.1002/(SICI)1097-4571(199009)41:6<391::AID-ASI1>3.0.CO;2-9), k-means with the number of clusters of the best
mean silhouette (Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7). All by scikit-learn.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from trajlab.behavior.patterns import in_words
from trajlab.measures.frame import Trajectories
from trajlab.measures.patterns import share_correct, with_pattern
from trajlab.stats import Estimate

FEWEST = 10
"""Trajectories below which nothing is grouped."""
MOST_CLUSTERS = 8
FITTED = 5_000
"""Trajectories the clusters are made of, drawn with the seed; all others join the nearest."""
DIMENSIONS = 20
TYPICAL = 3
NAMED_BY = 3
_TYPICAL_CHARS = 120

Array = np.ndarray[Any, np.dtype[np.float64]]


class Cluster(msgspec.Struct):
    """One group of trajectories of like pattern."""

    name: str
    """Made of the n-grams that its members hold and others don't."""
    grams: list[tuple[str, float, float]]
    """Those n-grams: gram, share of its members that hold it, share of the others."""
    size: int
    share: float
    correct: Estimate
    typical: list[dict[str, str | None]]
    """Members nearest to the centre: trajectory_id, task_id, pattern."""
    members: list[str]
    """Trajectory ids in the order of the frame."""


class Clusters(msgspec.Struct):
    """A clustering, or why there is none."""

    clusters: list[Cluster]
    """By size."""
    silhouette: float | None
    """Mean silhouette of the chosen number of clusters, -1 to 1."""
    tried: dict[int, float]
    """Number of clusters to mean silhouette."""
    trajectories: int
    why_not: str = ""


def cluster_patterns(trajectories: Trajectories, *, seed: int) -> Clusters:
    """Group trajectories by pattern.

    Args:
        trajectories: The population; those without a call are left out.
        seed: Seed of the draw, of the SVD and of k-means.

    Returns:
        Clusters by size. None, and ``why_not``, for fewer than ten trajectories or fewer than three distinct patterns.
    """
    frame = with_pattern(trajectories).sort("trajectory_id")
    distinct = frame["pattern"].n_unique()
    if frame.height < FEWEST:
        why = f"{frame.height} trajectories with calls: at least {FEWEST} are needed"
    elif distinct < 3:
        why = f"only {distinct} distinct patterns"
    else:
        from threadpoolctl import threadpool_limits

        # One thread: several sum in another order from run to run, and are slower on so little.
        with threadpool_limits(limits=1):
            return _clustered(frame, seed)
    return Clusters([], None, {}, frame.height, why)


def _clustered(frame: pl.DataFrame, seed: int) -> Clusters:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    points, fitted = _points(frame, seed)
    places = points[fitted]
    # Equal patterns share a point; k-means needs more points than clusters, the silhouette fewer clusters than points.
    most = min(MOST_CLUSTERS, len(np.unique(places.round(9), axis=0)) - 1)
    tried: dict[int, float] = {}
    models: dict[int, Any] = {}
    for k in range(2, most + 1):
        model = KMeans(n_clusters=k, n_init=10, random_state=seed).fit(places)
        if len(set(model.labels_.tolist())) < k:
            break
        tried[k] = round(float(silhouette_score(places, model.labels_, sample_size=min(len(places), 2_000),
                                                random_state=seed)), 6)  # fmt: skip
        models[k] = model
    if not tried:
        return Clusters([], None, {}, frame.height, "the patterns differ too little")
    best = max(tried, key=lambda k: (tried[k], -k))
    labels = models[best].predict(points)
    distances = np.linalg.norm(points - models[best].cluster_centers_[labels], axis=1)
    found = [_cluster(frame, labels == label, distances) for label in range(best)]
    found = sorted((c for c in found if c.size), key=lambda c: (-c.size, c.members[0]))
    _tell_apart(found)
    return Clusters(found, tried[best], tried, frame.height)


def _points(frame: pl.DataFrame, seed: int) -> tuple[Array, np.ndarray[Any, np.dtype[np.int64]]]:
    """Coordinates of every trajectory, and which of them the clusters are made of."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    drawn = np.random.default_rng(seed).permutation(frame.height)[:FITTED]
    fitted = np.sort(drawn)
    texts = frame["pattern"].to_list()
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False, sublinear_tf=True)
    matrix = vectorizer.fit([texts[place] for place in fitted]).transform(texts)
    dimensions = min(DIMENSIONS, matrix.shape[1] - 1, len(fitted) - 1)
    if dimensions < 2:
        return matrix.toarray(), fitted
    svd = TruncatedSVD(n_components=dimensions, random_state=seed)
    svd.fit(matrix[fitted])
    # Rounded: another BLAS sums in another order, which must not move a trajectory.
    return np.asarray(svd.transform(matrix)).round(8), fitted


def _cluster(frame: pl.DataFrame, inside: Any, distances: Array) -> Cluster:
    members = frame.filter(pl.Series(inside))
    others = frame.filter(~pl.Series(inside))
    nearest = np.flatnonzero(inside)[np.argsort(distances[inside], kind="stable")][:TYPICAL]
    grams = distinguishing(members["pattern"].to_list(), others["pattern"].to_list())
    typical: list[dict[str, str | None]] = [
        {
            "trajectory_id": row["trajectory_id"],
            "task_id": row["task_id"],
            "pattern": row["pattern"][:_TYPICAL_CHARS],
        }
        for row in frame[nearest].select("trajectory_id", "task_id", "pattern").iter_rows(named=True)
    ]
    return Cluster(
        name="; ".join(in_words(gram) for gram, _, _ in grams) or "nothing sets it apart",
        grams=grams,
        size=members.height,
        share=members.height / frame.height,
        correct=share_correct(members),
        typical=typical,
        members=members["trajectory_id"].to_list(),
    )


def distinguishing(members: list[str], others: list[str], count: int = NAMED_BY) -> list[tuple[str, float, float]]:
    """Return the n-grams (1 to 3) that members hold and others don't, most telling first.

    They are ranked by the difference of the shares of patterns that hold them; of a gram and its parts one is kept.

    Returns:
        Gram, share of members that hold it, share of others.
    """
    inside, outside = _held(members), _held(others)
    n_in, n_out = max(len(members), 1), max(len(others), 1)
    ranked = sorted(
        ((gram, held / n_in, outside.get(gram, 0) / n_out) for gram, held in inside.items()),
        key=lambda item: (-(item[1] - item[2]), -len(item[0]), item[0]),
    )
    chosen: list[tuple[str, float, float]] = []
    for item in ranked:
        if len(chosen) == count or item[1] - item[2] < 0.1:
            break
        if not any(item[0] in kept or kept in item[0] for kept, _, _ in chosen):
            chosen.append(item)
    return chosen


def _held(patterns: list[str]) -> dict[str, int]:
    held: dict[str, int] = {}
    for pattern in patterns:
        for gram in {pattern[i : i + n] for n in (1, 2, 3) for i in range(len(pattern) - n + 1)}:
            held[gram] = held.get(gram, 0) + 1
    return held


def _tell_apart(clusters: list[Cluster]) -> None:
    """Number those that would have the same name."""
    seen: dict[str, int] = {}
    for cluster in clusters:
        seen[cluster.name] = seen.get(cluster.name, 0) + 1
        if seen[cluster.name] > 1:
            cluster.name = f"{cluster.name} ({seen[cluster.name]})"
