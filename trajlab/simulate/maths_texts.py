"""Words for simulated maths trajectories: problems, reasoning, tool calls, answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import msgspec

from trajlab.simulate.verl_dump import Call, Turn, qwen_system

_TOOL = {
    "type": "function",
    "function": {
        "name": "python",
        "description": "Runs Python code and returns what it prints.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
}
SYSTEM = qwen_system(
    "You are a careful mathematician. Reason step by step, use the tool where it helps, and put the final answer in "
    "\\boxed{}.",
    [_TOOL],
)


class Problem(msgspec.Struct):
    """A problem, code that solves it in two parts, and what the parts print."""

    text: str
    first_code: str
    first: int
    code: str
    answer: int


def _remainder(rng: random.Random) -> Problem:
    a, n, m = rng.randint(2, 29), rng.randint(20, 400), rng.randint(7, 97)
    return Problem(
        f"Find the remainder when ${a}^{{{n}}}$ is divided by ${m}$.",
        f"{a} % {m}",
        a % m,
        f"pow({a}, {n}, {m})",
        pow(a, n, m),
    )


def _paths(rng: random.Random) -> Problem:
    a, b = rng.randint(3, 9), rng.randint(3, 9)
    return Problem(
        f"How many shortest lattice paths lead from $(0,0)$ to $({a},{b})$?",
        f"{a} + {b}",
        a + b,
        f"math.comb({a} + {b}, {a})",
        math.comb(a + b, a),
    )


def _series(rng: random.Random) -> Problem:
    first, difference, count = rng.randint(1, 40), rng.randint(2, 15), rng.randint(12, 90)
    last = first + (count - 1) * difference
    return Problem(
        f"An arithmetic sequence starts with ${first}$ and has common difference ${difference}$. What is the sum of "
        f"its first ${count}$ terms?",
        f"{first} + ({count} - 1) * {difference}",
        last,
        f"{count} * ({first} + {last}) // 2",
        count * (first + last) // 2,
    )


def _divisors(rng: random.Random) -> Problem:
    n = 2 ** rng.randint(1, 5) * 3 ** rng.randint(0, 3) * 5 ** rng.randint(0, 2) * rng.choice((1, 7, 11, 13))
    count = sum(n % d == 0 for d in range(1, n + 1))
    return Problem(
        f"How many positive divisors does ${n}$ have?",
        f"{n} % 2",
        n % 2,
        f"sum({n} % d == 0 for d in range(1, {n} + 1))",
        count,
    )


def _tanks(rng: random.Random) -> Problem:
    a, b, hours = rng.randint(3, 24), rng.randint(3, 24), rng.randint(5, 30)
    whole = (a + b) * hours
    return Problem(
        f"Two pumps deliver ${a}$ and ${b}$ litres a minute. Together they fill a tank in ${hours}$ minutes; then a "
        f"quarter of it, rounded down, leaks out. How many litres are left?",
        f"({a} + {b}) * {hours}",
        whole,
        f"{whole} - {whole} // 4",
        whole - whole // 4,
    )


def _triangle(rng: random.Random) -> Problem:
    k, m, n = rng.randint(1, 12), rng.randint(4, 9), rng.randint(1, 3)
    a, b = k * (m * m - n * n), k * 2 * m * n
    return Problem(
        f"A right triangle has legs ${a}$ and ${b}$. What is its perimeter?",
        f"math.isqrt({a}**2 + {b}**2)",
        math.isqrt(a * a + b * b),
        f"{a} + {b} + math.isqrt({a}**2 + {b}**2)",
        a + b + math.isqrt(a * a + b * b),
    )


def _multiples(rng: random.Random) -> Problem:
    top, a, b = rng.randint(150, 2000), rng.randint(3, 9), rng.randint(10, 19)
    count = top // a + top // b - top // math.lcm(a, b)
    return Problem(
        f"How many positive integers up to ${top}$ are divisible by ${a}$ or by ${b}$?",
        f"math.lcm({a}, {b})",
        math.lcm(a, b),
        f"{top}//{a} + {top}//{b} - {top}//math.lcm({a}, {b})",
        count,
    )


_KINDS: tuple[Callable[[random.Random], Problem], ...] = (
    _remainder,
    _paths,
    _series,
    _divisors,
    _tanks,
    _triangle,
    _multiples,
)
_OPENINGS = (
    "Let me set this up carefully.",
    "First, restate what is asked.",
    "We can do this directly.",
    "Let's break the problem into parts.",
    "I will work from the definition.",
    "Okay, start with the known values.",
)
_DOUBTS = (
    "That does not look complete yet.",
    "Let me double-check with another computation.",
    "I should verify this part.",
    "The last output is only an intermediate value.",
    "Let me fix that and run it again.",
)
_NOISE = ("therefore", "0", "\\frac", "so so", "}}", "value", "the the", "=", "step", "hence", "7", "\\cdot")


def problems(rng: random.Random, count: int) -> list[Problem]:
    """Distinct problems."""
    found: dict[str, Problem] = {}
    while len(found) < count:
        problem = _KINDS[len(found) % len(_KINDS)](rng)
        if problem.text in found:
            problem.text += f" (Variant {len(found)}.)"
        found.setdefault(problem.text, problem)
    return list(found.values())


def conversation(
    rng: random.Random, problem: Problem, *, correct: bool, tool: bool, turns: int, fined: bool, garbled: bool
) -> tuple[list[Turn], str]:
    """What the agent wrote, and the answer a parser finds in it (empty for none).

    Every turn but the last makes a call that is executed; without tools there is one turn.
    """
    if not tool:
        return _without_tool(rng, problem, correct=correct, fined=fined, garbled=garbled)
    said = [_tool_turn(rng, problem, last=number == turns - 2, good=correct) for number in range(turns - 1)]
    if fined and not correct:
        said.append(Turn(f"{rng.choice(_DOUBTS)} I cannot finish this."))
        return said, ""
    answer = problem.answer if correct else _wrong(rng, problem)
    text = rng.choice((f"The computation gives {answer}.", f"So the result is {answer}.", "That settles it."))
    said.append(Turn(f"{text}\n\n\\boxed{{{answer}}}"))
    return said, str(answer)


def _without_tool(
    rng: random.Random, problem: Problem, *, correct: bool, fined: bool, garbled: bool
) -> tuple[list[Turn], str]:
    opening = rng.choice(_OPENINGS)
    if correct:
        text = f"{opening} The first part, ${problem.first_code}$, is {problem.first}. From there it follows."
        return [Turn(f"{text}\n\n\\boxed{{{problem.answer}}}")], str(problem.answer)
    if garbled:
        words = " ".join(rng.choices(_NOISE, k=rng.randint(60, 260)))
        return [Turn(f"{opening} {words}")], ""
    if fined and rng.random() < 0.5:
        raw = rng.choice(
            (
                f'{{"name": "python", "arguments": {{"code": "print({problem.code})"}}',
                f"python(code='print({problem.code})')",
            )
        )
        return [Turn(opening, [Call("python", {}, malformed=raw)])], ""
    if fined:
        return [Turn(f"{opening} The answer should be near {_wrong(rng, problem)}, but I am not sure.")], ""
    answer = _wrong(rng, problem)
    text = f"{opening} Roughly, {problem.first_code} is {_wrong(rng, problem)}, so I estimate {answer}."
    return [Turn(f"{text}\n\n\\boxed{{{answer}}}")], str(answer)


def _tool_turn(rng: random.Random, problem: Problem, *, last: bool, good: bool) -> Turn:
    text = rng.choice(_OPENINGS if last else _DOUBTS)
    if not last and rng.random() < 0.4:
        code, result = f"print({problem.code}", "SyntaxError: '(' was never closed"
    elif not last or (not good and rng.random() < 0.5):
        code, result = f"import math\nprint({problem.first_code})", str(problem.first)
    else:
        code, result = f"import math\nprint({problem.code})", str(problem.answer)
    return Turn(text, [Call("python", {"code": code})], [result])


def _wrong(rng: random.Random, problem: Problem) -> int:
    return problem.answer + rng.choice((-12, -5, -2, -1, 1, 2, 3, 10, 25, 100))
