"""The section of action patterns: what follows what, the mix along a trajectory, groups of like trajectories."""

from __future__ import annotations

import polars as pl

from trajlab.behavior.patterns import BY_LETTER, KINDS, in_words
from trajlab.measures.clusters import Clusters, cluster_patterns
from trajlab.measures.patterns import LONGEST_GRAM, Patterns, gram_share, patterns, with_pattern
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.plots import stacked_shares
from trajlab.report.tables import Column, details, estimate_table, facts, not_observed, plain_table
from trajlab.report.text import Html, escape, join
from trajlab.stats import per_cent

GRAMS = 6
"""n-grams shown of each length."""
PARTS = 5
"""Kinds with a colour of their own in the figure; the rest is one part."""
NO_STRUCTURE = 0.25
"""Mean silhouette up to which no substantial structure was found (Kaufman & Rousseeuw 1990, Finding Groups in Data)."""


def action_patterns(audit: EpochAudit) -> Html:
    """Transition matrix, mix by decile, n-grams, distinct patterns and clusters."""
    found = patterns(audit.trajectories)
    if found is None:
        return not_observed("Action patterns", "the tool calls of the agent")
    legend = "; ".join(f"{kind.letter} {kind.name}" for kind in KINDS)
    n = f"{found.trajectories:,} trajectories with calls; {found.without:,} without any are left out."
    return join(
        [
            Html(f'<p class="more">{escape(f"One letter for each call: {legend}. {n}")}</p>'),
            heat_table(found.transitions),
            _mix(found.by_decile),
            _distinct(found),
            _clusters(cluster_patterns(audit.trajectories, seed=audit.seed), audit.seed),
            _grams(audit, found),
            details("kinds of call by number of the call", _by_call(found.by_call)),
        ],
        "\n",
    )


def heat_table(transitions: pl.DataFrame) -> Html:
    """What follows each kind, in per cent of the row, the cell as dark as the share is large.

    Args:
        transitions: ``from``, ``n``, a column of shares per kind (letters), as `trajlab.measures.patterns` gives it.
    """
    kinds = [name for name in transitions.columns if name not in ("from", "n")]
    head = join([Html(f'<th scope=col title="{escape(_name(k))}">{escape(k)}</th>') for k in kinds])
    rows = []
    for row in transitions.iter_rows(named=True):
        cells = "".join([_heat(row[kind], f"{_name(row['from'])}, then {_name(kind)}") for kind in kinds])
        first = f"<th scope=row>{escape(row['from'])} {escape(_name(row['from']))}</th>"
        rows.append(Html(f"<tr>{first}<td class=num>{row['n']:,}</td>{cells}</tr>"))
    caption = "the call after a call: per cent of the row, which sums to 100; n is the calls that another follows"
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr><th scope=col>after</th><th scope=col class=num>n</th>{head}"
        f"</tr></thead><tbody>{join(rows)}</tbody></table></div>"
    )


def _heat(share: float, title: str) -> str:
    """One cell: the page's first colour, mixed into whatever lies below, so that it fits light and dark."""
    text = per_cent(share, 0) if share > 0 else "·"
    mixed = f"color-mix(in srgb, var(--c1,#3b7fb5) {round(70 * share)}%, transparent)"
    return f'<td class=num style="background:{mixed}" title="{escape(title)}: {per_cent(share)} %">{escape(text)}</td>'


def _name(letter: str) -> str:
    return BY_LETTER[letter].name if letter in BY_LETTER else letter


def _mix(by_decile: pl.DataFrame) -> Html:
    kinds = [name for name in by_decile.columns if name not in ("decile", "n")]
    weight = {kind: float((by_decile[kind] * by_decile["n"]).sum()) for kind in kinds}
    first = sorted(kinds, key=lambda kind: -weight[kind])[:PARTS]
    parts: dict[str, list[float | None]] = {_name(kind): by_decile[kind].to_list() for kind in first}
    rest = [kind for kind in kinds if kind not in first]
    if rest:
        parts["all else"] = by_decile.select(pl.sum_horizontal(rest)).to_series().to_list()
    return stacked_shares(
        [f"{10 * (decile - 1)} to {10 * decile} %" for decile in by_decile["decile"].to_list()],
        parts,
        title="kinds of call along the trajectory",
        n=by_decile["n"].to_list(),
        caption="tenths of each trajectory's calls; n is calls",
    )


def _distinct(found: Patterns) -> Html:
    return facts(
        {f"distinct patterns, {item.of}": f"{item.distinct:,} of {item.trajectories:,}" for item in found.distinct}
    )


def _grams(audit: EpochAudit, found: Patterns) -> Html:
    frame = with_pattern(audit.trajectories)
    rows = [
        {
            "n": row["n"],
            "pattern": row["gram"],
            "in words": in_words(row["gram"]),
            "times": row["count"],
            "trajectories that hold it": gram_share(frame, row["gram"]),
        }
        for n in range(2, LONGEST_GRAM + 1)
        for row in found.grams.filter(pl.col("n") == n).head(GRAMS).iter_rows(named=True)
    ]
    table = estimate_table(rows, list(rows[0]) if rows else ["pattern"], caption="most frequent runs of calls")
    return details("most frequent runs of 2 to 4 calls", table)


def _clusters(found: Clusters, seed: int) -> Html:
    if not found.clusters:
        return not_observed(f"Clusters of patterns ({found.why_not})", "more trajectories")
    rows = [
        {
            "what sets it apart": cluster.name,
            "size": cluster.size,
            "correct": cluster.correct,
            "typical": "; ".join(f"{m['task_id'] or m['trajectory_id']}: {m['pattern']}" for m in cluster.typical[:1]),
        }
        for cluster in found.clusters
    ]
    how = f"mean silhouette {found.silhouette:.2f}, the best of 2 to {max(found.tried)} clusters; seed {seed}"
    if (found.silhouette or 0.0) <= NO_STRUCTURE:
        how += f". At most {NO_STRUCTURE}: no substantial structure; a way to sort the reading, not kinds of agents"
    columns = [Column(key, key) for key in rows[0]]
    table = estimate_table(rows, columns, caption=f"{found.trajectories:,} trajectories in clusters by pattern: {how}")
    members = [{"cluster": cluster.name, **member} for cluster in found.clusters for member in cluster.typical]
    return join([table, details("typical members of each cluster", plain_table(members))], "\n")


def _by_call(by_call: pl.DataFrame) -> Html:
    kinds = [name for name in by_call.columns if name not in ("call", "n")]
    rows = [
        {"call": row["call"], "n": row["n"], **{_name(kind): f"{per_cent(row[kind], 0)} %" for kind in kinds}}
        for row in by_call.iter_rows(named=True)
    ]
    return plain_table(rows, caption="n is the trajectories that have so many calls")
