"""The seeded sample of trajectories, folded, for a person to read: log text shown as text."""

from __future__ import annotations

from typing import Any, Protocol

import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.report.result import Sampled
from trajlab.report.tables import callout, details, excerpt, facts
from trajlab.report.text import Html, escape, join

STEPS_SHOWN = 60
MESSAGE_CHARS = 1500
OUTPUT_CHARS = 800
PROMPT_CHARS = 3000


class Drawn(Protocol):
    """What was sampled, and where its texts are."""

    corpus: Corpus
    sampled: list[Sampled]


def sample(audit: Drawn) -> Html:
    """Every sampled trajectory as a folded block: facts, then its turns."""
    if not audit.sampled:
        return callout("unobserved", "No trajectory to draw from.")
    ids = [item.trajectory_id for item in audit.sampled]
    wanted = pl.col("trajectory_id").is_in(ids)
    calls = audit.corpus.tool_calls.filter(wanted).collect()
    texts = audit.corpus.texts.filter(wanted).collect()
    turns = audit.corpus.steps.filter(wanted).collect()
    blocks = []
    for item in audit.sampled:
        own = pl.col("trajectory_id") == item.trajectory_id
        said = texts.filter(own)
        body = join([_prompts(said), _turns(calls.filter(own), said, turns.filter(own))])
        blocks.append(details(_title(item, said), join([_facts(item), body])))
    draws = dict.fromkeys(f"{item.why}; each with probability {item.probability:.3g}" for item in audit.sampled)
    intro = f"At random: {'. '.join(draws)}."
    return join([Html(f'<p class="more">{escape(intro)}</p>'), *blocks], "\n")


def _prompts(texts: pl.DataFrame) -> Html:
    prompts = texts.filter(pl.col("kind") == "prompt").sort("number")["text"].to_list()
    return join([details(f"prompt, {len(prompt):,} characters", prompt, PROMPT_CHARS) for prompt in prompts[:3]])


def _title(item: Sampled, texts: pl.DataFrame) -> str:
    task = item.task_id or item.trajectory_id
    if task.startswith("prompt:"):
        prompts = texts.filter(pl.col("kind") == "prompt").sort("number")["text"]
        task = " ".join(prompts[-1].split())[:80] if len(prompts) else task
    steps = item.details.get("n_steps")
    verdict = {True: "correct", False: "not correct", None: "no verdict"}[item.details.get("correct")]  # type: ignore[index]
    return f"{task} · {verdict} · {steps} {'step' if steps == 1 else 'steps'}"


def _facts(item: Sampled) -> Html:
    shown: dict[str, object] = {"trajectory": item.trajectory_id}
    shown.update({name.replace("_", " "): value for name, value in item.details.items()})
    return facts(shown)


def _turns(calls: pl.DataFrame, texts: pl.DataFrame, turns: pl.DataFrame) -> Html:
    lookup: dict[tuple[str, int], str] = {
        (kind, number): text for kind, number, text in texts.select("kind", "number", "text").iter_rows()
    }
    by_step: dict[int, list[dict[str, Any]]] = {}
    for call in calls.sort("call").iter_rows(named=True):
        by_step.setdefault(call["step"], []).append(call)
    blocks = []
    for step in turns["step"].sort():
        if step > STEPS_SHOWN:
            blocks.append(Html(f'<p class="more">{turns.height - STEPS_SHOWN} further steps are not shown.</p>'))
            break
        said = lookup.get(("turn", step), "")
        thought = lookup.get(("reasoning", step), "")
        parts = [details(f"reasoning, {len(thought):,} characters", thought, MESSAGE_CHARS)] if thought else []
        parts += [excerpt(said, MESSAGE_CHARS)] if said else []
        parts += [_call(call, lookup, said) for call in by_step.get(step, [])]
        blocks.append(join([Html(f"<h4>step {step}</h4>"), *parts]))
    if not texts.height:
        blocks.insert(0, callout("unobserved", "Texts were not kept in this corpus.", "Ingest without --no-text."))
    return join(blocks)


def _call(call: dict[str, Any], lookup: dict[tuple[str, int], str], said: str) -> Html:
    asked = call["command"] or lookup.get(("arguments", call["call"]), "")
    came = lookup.get(("output", call["call"]), "")
    code = "" if call["exit_code"] is None else f"exit code {call['exit_code']}"
    state = code or {True: "executed", False: "not executed", None: ""}[call["executed"]]
    shown = excerpt(asked, MESSAGE_CHARS) if asked and asked not in said else Html("")
    head = f"{call['tool'] or 'unreadable call'} · {len(came):,} characters came back"
    result = details(head, came, OUTPUT_CHARS, note=state) if came else Html(f"<p>{escape(head)} {escape(state)}</p>")
    return join([shown, result])
