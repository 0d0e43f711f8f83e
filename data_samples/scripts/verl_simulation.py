"""A made-up policy that learns arithmetic with two tools: tasks, conversations and rewards, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SYSTEM = "You solve word problems. Use a tool for arithmetic and end with a line 'Answer: <number>'."
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "calculator", "description": "Value of an arithmetic expression.",
     "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}}},
    {"type": "function", "function": {"name": "python", "description": "Runs code, returns what it prints.",
     "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}}},
]
ITEMS = ("pens", "apples", "tickets", "books", "stamps", "bolts", "cups", "seeds")
PEOPLE = ("Ana", "Bo", "Chen", "Dara", "Eli", "Fatima", "Goran", "Hana")


@dataclass(frozen=True)
class Problem:
    """A word problem with its expression in two steps and its answer."""

    text: str
    first: str
    first_value: int
    whole: str
    answer: int


@dataclass(frozen=True)
class Call:
    """One tool call; ``malformed`` is raw text instead, as the model wrote it."""

    name: str
    arguments: dict[str, str]
    malformed: str | None = None


@dataclass
class Turn:
    """One turn of the policy and what came back."""

    think: str
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@dataclass
class Episode:
    """One sampled conversation and its rewards; ``kept`` is the share of the output that fitted the budget."""

    problem: Problem
    turns: list[Turn]
    prediction: str
    kept: float = 1.0

    @property
    def calls(self) -> int:
        return sum(call.malformed is None for turn in self.turns for call in turn.calls)

    @property
    def failed_calls(self) -> int:
        return sum(result.startswith(("Unknown function", "Error when")) for t in self.turns for result in t.results)


def shop(rng: random.Random, who: str, item: str) -> Problem:
    a, b, c = rng.randint(3, 19), rng.randint(12, 48), rng.randint(7, 95)
    return Problem(f"{who} buys {a} boxes of {b} {item} and gives away {c} {item}. How many {item} are left?",
                   f"{a} * {b}", a * b, f"{a} * {b} - {c}", a * b - c)


def share(rng: random.Random, who: str, item: str) -> Problem:
    a, b, c = rng.randint(4, 12), rng.randint(14, 60), rng.randint(3, 40)
    return Problem(f"{a} friends and {who} each bring {b} {item}; {c} {item} are lost on the way. "
                   f"How many {item} arrive?", f"({a} + 1) * {b}", (a + 1) * b, f"({a} + 1) * {b} - {c}", (a + 1) * b - c)


def trip(rng: random.Random, who: str, item: str) -> Problem:
    a, b, c = rng.randint(41, 97), rng.randint(3, 9), rng.randint(11, 88)
    return Problem(f"{who} drives {a} km/h for {b} hours and then {c} km more. How many km is that?",
                   f"{a} * {b}", a * b, f"{a} * {b} + {c}", a * b + c)


def saving(rng: random.Random, who: str, item: str) -> Problem:
    a, b, c = rng.randint(120, 480), rng.randint(13, 37), rng.randint(5, 24)
    return Problem(f"{who} has {a} coins and saves {b} coins a week for {c} weeks. How many coins in the end?",
                   f"{b} * {c}", b * c, f"{a} + {b} * {c}", a + b * c)


KINDS: tuple[Callable[[random.Random, str, str], Problem], ...] = (shop, share, trip, saving)


def problems(rng: random.Random, count: int) -> list[Problem]:
    return [KINDS[k % len(KINDS)](rng, rng.choice(PEOPLE), rng.choice(ITEMS)) for k in range(count)]


def make_call(rng: random.Random, expression: str, value: int) -> tuple[Call, str]:
    if rng.random() < 0.7:
        return Call("calculator", {"expression": expression}), str(value)
    if rng.random() < 0.5:
        return Call("python", {"code": f"print({expression})"}), str(value)
    return Call("python", {"code": f"total = {expression}\nprint('total:', total)"}), f"total: {value}"


def thought(rng: random.Random, problem: Problem, expression: str) -> str:
    return rng.choice((
        f"I need {expression}. Better to compute it than to guess.",
        f"First write it down: {expression}.\nLet me use a tool for that.",
        f"The question asks for {problem.whole}.\nStart with {expression}.",
        f"Okay, {expression}. I could do this in my head, but a tool is safer.",
    ))


def closing(rng: random.Random, value: int) -> tuple[str, str]:
    think = rng.choice((f"The tool says {value}, so that is it.", f"So the result is {value}.",
                        f"{value} looks plausible.\nI am done.", "All numbers are used. Answer now."))
    return think, rng.choice((f"Answer: {value}", f"The result is {value}.\n\nAnswer: {value}"))


def tool_turns(rng: random.Random, problem: Problem) -> list[Turn]:
    """One call for all, two calls in a row, or two calls in one turn."""
    kind = rng.random()
    if kind < 0.55:
        call, result = make_call(rng, problem.whole, problem.answer)
        return [Turn(thought(rng, problem, problem.whole), calls=[call], results=[result])]
    first, first_result = make_call(rng, problem.first, problem.first_value)
    second, second_result = make_call(rng, problem.whole, problem.answer)
    if kind < 0.8:
        return [Turn(thought(rng, problem, problem.first), calls=[first], results=[first_result]),
                Turn(f"Now the rest: {problem.whole}.", calls=[second], results=[second_result])]
    return [Turn(thought(rng, problem, problem.first), "Two computations at once.", [first, second],
                 [first_result, second_result])]


def fault_turn(rng: random.Random, problem: Problem) -> Turn:
    """A call to a tool that does not exist, or one whose expression the tool cannot read."""
    if rng.random() < 0.5:
        name = rng.choice(("wolfram", "calc", "search"))
        return Turn("Maybe there is a stronger tool.", calls=[Call(name, {"expression": problem.whole})],
                    results=[f"Unknown function '{name}'. Available tools: ['calculator', 'python']"])
    return Turn(thought(rng, problem, problem.whole), calls=[Call("calculator", {"expression": problem.whole + " ="})],
                results=["Error when executing tool: invalid syntax (<expression>, line 1)"])


def malformed_turn(rng: random.Random, problem: Problem) -> Turn:
    raw = rng.choice((
        '{"name": "calculator", "arguments": {"expression": "%s"}' % problem.whole,
        "{'name': 'calculator', 'arguments': {'expression': '%s'}}" % problem.whole,
        '{"name": "python", "arguments": {"code": "print(%s)}}' % problem.whole,
        "calculator(%s)" % problem.whole,
    ))
    return Turn(thought(rng, problem, problem.whole), calls=[Call("calculator", {}, malformed=raw)])


def sample_episode(rng: random.Random, problem: Problem, skill: float) -> Episode:
    """One conversation; with growing ``skill`` (0 to 1) tools are used more, and better."""
    if rng.random() < 0.14 - 0.1 * skill:
        return Episode(problem, [malformed_turn(rng, problem)], "")
    uses_tool = rng.random() < 0.45 + 0.5 * skill
    turns = [fault_turn(rng, problem)] if uses_tool and rng.random() < 0.22 - 0.15 * skill else []
    turns += tool_turns(rng, problem) if uses_tool else []
    right = rng.random() < (0.75 + 0.2 * skill if uses_tool else 0.2 + 0.25 * skill)
    value = problem.answer if right else problem.answer + rng.choice((-10, -3, -1, 1, 2, 9, 10, 100))
    if uses_tool:
        think, text = closing(rng, value)
    else:
        think = f"{problem.whole}: that is {problem.first} first, about {problem.first_value // 10 * 10}, so {value}."
        text = f"Answer: {value}"
    turns.append(Turn(think, text))
    if rng.random() < 0.1 - 0.06 * skill:
        return Episode(problem, turns, "", kept=rng.uniform(0.3, 0.85))
    if rng.random() < 0.06:
        turns[-1].text = f"It is {value}."
        return Episode(problem, turns, "")
    return Episode(problem, turns, str(value))


def rewards(episode: Episode) -> dict[str, float]:
    """The components of the reward; their sum is the score."""
    answer = 1.0 if episode.prediction == str(episode.problem.answer) else 0.0
    good_calls = episode.calls - episode.failed_calls
    tool = 0.2 if good_calls > 0 and not episode.failed_calls else -0.1 if episode.failed_calls else 0.0
    return {"answer_reward": answer, "tool_reward": tool, "format": 0.1 if episode.prediction else 0.0}
