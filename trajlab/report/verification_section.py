"""The section on verification: what was run after edits, and edits that went wrong."""

from __future__ import annotations

from trajlab.measures.catalogue import BY_NAME
from trajlab.report.epoch_audit import EpochAudit
from trajlab.report.plots import bars
from trajlab.report.sections import VERDICTS, measures_of
from trajlab.report.tables import Column, estimate_table
from trajlab.report.text import Html, join
from trajlab.schema import RUNGS

_VERIFIED = (
    "any_test_rate", "suite_run_rate", "inline_rate", "script_rate", "static_rate", "executes_before_rate",
    "verified_rate", "stale_rate", "read_back_rate", "submitted_unverified_rate", "submitted_failing_rate",
)  # fmt: skip
_READINGS = Html(
    '<p class="more">A measure is not observed where it does not apply: nothing of the project was edited, no test was '
    "run, nothing was submitted. A call of the agent's own script that is known to write files of the project or its "
    "tests is an edit and no verification. Deleting what the agent itself made is no project edit, nor is putting back "
    "a file that it had not changed. Showing a file in the same call, after the edit, reads it back.</p>"
)


def verification(audit: EpochAudit) -> Html:
    """What was run after edits: the ladder, stale verification, read-back, edits that went wrong; by verdict."""
    shown = measures_of(audit, "verification", "Verification")
    if not audit.estimate("project_edit_rate").value:
        return shown
    ladders = [
        bars(
            list(RUNGS),
            [audit.estimate(f"ladder_{when}.{rung}") for rung in RUNGS],
            title=f"highest rung reached after the {when} edit of project code",
        )
        for when in ("first", "last")
    ]
    return join([*ladders, shown, _READINGS, _verified_by_verdict(audit)], "\n")


def _verified_by_verdict(audit: EpochAudit) -> Html:
    """Each value once, with the interval clustered by task and, beside it, the naive one."""
    names = [*_VERIFIED, *(f"ladder_last.{rung}" for rung in RUNGS)]
    clustered, naive = audit.by_verdict(names), audit.by_verdict(names, clustered=False)
    groups = [str(group) for group in dict.fromkeys(item.group for item in clustered)]
    if len(groups) < 2:
        return Html("")
    columns = [Column("measure", "measure")]
    for group in groups:
        title = VERDICTS.get(group, group)
        columns += [Column(group, title), Column(f"{group} naive", f"{title}, naive", bar=False)]
    rows = [
        {
            "measure": BY_NAME[name].label,
            **{str(item.group): item.estimate for item in clustered if item.name == name},
            **{f"{item.group} naive": item.estimate for item in naive if item.name == name},
        }
        for name in names
    ]
    caption = "by verdict, pooled; naive: as if no two attempts shared a task. What goes together, not what causes what"
    return estimate_table(rows, columns, caption=caption)
