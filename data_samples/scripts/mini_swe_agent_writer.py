"""Write trajectories by running mini-swe-agent 2.x with its scripted test models and a real local shell.

Usage: python mini_swe_agent_writer.py OUT   (needs: mini-swe-agent==2.4.6, pytest, git)
The real batch runner `process_instance` writes the files; only the model's words are ours. Actions are parsed by the
package's own parsers, so that format errors are its own. Outcomes come from running hidden tests on the patch.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mini_swe_agent_common import CLOCK_START, evaluate, make_repository, quiet_environment, rewrite
from mini_swe_agent_plans import ATTEMPT_1, ATTEMPT_2, CRASH, RESPONSES, Plan, Turn
from mini_swe_agent_tasks import TASKS

sys.dont_write_bytecode = True
HOME = Path(tempfile.mkdtemp(prefix="mini-home-"))
quiet_environment(HOME)

import yaml  # noqa: E402
from minisweagent import package_dir  # noqa: E402
from minisweagent.models.test_models import (  # noqa: E402
    DeterministicModel,
    DeterministicModelConfig,
    DeterministicResponseAPIToolcallModel,
    DeterministicResponseAPIToolcallModelConfig,
    DeterministicToolcallModel,
    DeterministicToolcallModelConfig,
)
from minisweagent.models.utils.actions_text import parse_regex_actions  # noqa: E402
from minisweagent.models.utils.actions_toolcall import parse_toolcall_actions  # noqa: E402
from minisweagent.models.utils.actions_toolcall_response import parse_toolcall_actions_response  # noqa: E402
from minisweagent.run.benchmarks.swebench import process_instance  # noqa: E402
from minisweagent.run.benchmarks.utils.batch_progress import RunBatchProgressManager  # noqa: E402

TEXT_ACTION = r"```mswea_bash_command\s*\n(.*?)\n```"


class APIConnectionError(Exception):
    """Stands for a provider that cannot be reached."""


class Scripted:
    """Crashes where the plan says so, and lets the package parse the turn it returns."""

    config: Any

    def query(self, messages: list[dict[str, Any]], **kwargs: Any) -> dict[str, Any]:
        output = dict(super().query(messages, **kwargs))  # type: ignore[misc]
        extra = dict(output["extra"])
        if extra.pop("crash", False):
            raise APIConnectionError("Connection error: the provider closed the connection")
        extra["actions"] = self.parse(output)
        return {**output, "extra": extra}

    def parse(self, output: dict[str, Any]) -> list[dict[str, Any]]:
        raise NotImplementedError


class TextConfig(DeterministicModelConfig):
    format_error_template: str = ""


class ScriptedTextModel(Scripted, DeterministicModel):
    """Actions in fenced blocks."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = TextConfig(**kwargs)
        self.current_index = -1

    def parse(self, output: dict[str, Any]) -> list[dict[str, Any]]:
        return list(parse_regex_actions(output["content"], action_regex=TEXT_ACTION,
                                        format_error_template=self.config.format_error_template))


class ToolcallConfig(DeterministicToolcallModelConfig):
    format_error_template: str = ""


class ScriptedToolcallModel(Scripted, DeterministicToolcallModel):
    """Actions as OpenAI chat tool calls."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = ToolcallConfig(**kwargs)
        self.current_index = -1

    def parse(self, output: dict[str, Any]) -> list[dict[str, Any]]:
        calls = [SimpleNamespace(id=c["id"], function=SimpleNamespace(**c["function"]))
                 for c in output["tool_calls"] or []]
        return list(parse_toolcall_actions(calls, format_error_template=self.config.format_error_template))


class ResponsesConfig(DeterministicResponseAPIToolcallModelConfig):
    format_error_template: str = ""


class ScriptedResponsesModel(Scripted, DeterministicResponseAPIToolcallModel):
    """Actions as OpenAI Responses function calls."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = ResponsesConfig(**kwargs)
        self.current_index = -1

    def parse(self, output: dict[str, Any]) -> list[dict[str, Any]]:
        return list(parse_toolcall_actions_response(
            output["output"], format_error_template=self.config.format_error_template))


def commands_of(turn: Turn) -> list[str]:
    command = turn[1]
    return [] if command is None else [command] if isinstance(command, str) else command


def text_output(number: int, turn: Turn) -> dict[str, Any]:
    block = " && ".join(commands_of(turn))
    content = f"THOUGHT: {turn[0]}" + (f"\n\n```mswea_bash_command\n{block}\n```" if block else "")
    return {"role": "assistant", "content": content}


def toolcall_output(number: int, turn: Turn) -> dict[str, Any]:
    calls = [{"id": f"call_{number}_{k}", "type": "function",
              "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
             for k, command in enumerate(commands_of(turn))]
    return {"role": "assistant", "content": turn[0], "tool_calls": calls or None}


def responses_output(number: int, turn: Turn) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"type": "message", "role": "assistant",
                                    "content": [{"type": "output_text", "text": turn[0]}]}]
    items += [{"type": "function_call", "call_id": f"call_{number}_{k}", "name": "bash",
               "arguments": json.dumps({"command": command})} for k, command in enumerate(commands_of(turn))]
    return {"object": "response", "output": items}


STYLES: dict[str, tuple[Any, str, str]] = {
    "text": (text_output, "ScriptedTextModel", "swebench_backticks.yaml"),
    "toolcall": (toolcall_output, "ScriptedToolcallModel", "swebench.yaml"),
    "responses": (responses_output, "ScriptedResponsesModel", "swebench.yaml"),
}


def outputs_for(plan: Plan, style: str) -> list[dict[str, Any]]:
    make = STYLES[style][0]
    outputs = []
    for number, turn in enumerate(plan.turns):
        cost = round(0.002 + 0.0005 * number, 4)  # the conversation gets longer, so calls get dearer
        outputs.append({**make(number, turn), "extra": {"actions": [], "cost": cost, "timestamp": 0.0,
                                                        "crash": number == plan.crash_at}})
    for output in outputs:
        if not output["extra"]["crash"]:
            del output["extra"]["crash"]
    return outputs


def configuration(plan: Plan, style: str, folder: Path) -> dict[str, Any]:
    """The benchmark's own configuration, with our model, a local shell and the plan's limits."""
    _, model_class, config_name = STYLES[style]
    config = yaml.safe_load((package_dir / "config" / "benchmarks" / config_name).read_text())
    environment = config["environment"]
    model = config["model"]
    return {
        "agent": {**config["agent"], **plan.agent},
        "environment": {"environment_class": "local", "cwd": str(folder), "timeout": plan.timeout,
                        "env": {k: v for k, v in environment["env"].items() if k != "BASH_ENV"}},
        "model": {"model_class": f"{__name__}.{model_class}", "model_name": f"scripted-{style}",
                  "observation_template": model["observation_template"],
                  "format_error_template": model["format_error_template"],
                  "outputs": outputs_for(plan, style)},
    }


def run_plan(plan: Plan, style: str, out: Path, start: float) -> bool:
    task = TASKS[plan.instance_id]
    with tempfile.TemporaryDirectory(prefix="mini-repo-") as name:
        folder = Path(name)
        make_repository(task, folder)
        instance = {"instance_id": plan.instance_id, "problem_statement": task.problem_statement}
        process_instance(instance, out, configuration(plan, style, folder), RunBatchProgressManager(1, None))
    path = out / plan.instance_id / f"{plan.instance_id}.traj.json"
    submission = json.loads(path.read_text(encoding="utf-8"))["info"]["submission"]
    replacements = {str(folder): "/testbed", str(package_dir.parent): "/site-packages",
                    str(Path(__file__).resolve().parent): "/scripts", f"{__name__}.Scripted": "scripted_models.Scripted"}
    rewrite(path, replacements, start)
    report = evaluate(task, submission)
    (path.parent / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return bool(report["resolved"])


def main() -> None:
    out = Path(sys.argv[1])
    runs = [("mini-swe-agent-demo/attempt_1", ATTEMPT_1, "text"), ("mini-swe-agent-demo/attempt_2", ATTEMPT_2, "toolcall"),
            ("responses-style", RESPONSES, "responses"), ("crashed", CRASH, "toolcall")]
    for number, (name, plans, style) in enumerate(runs):
        shutil.rmtree(out / name, ignore_errors=True)
        (out / name).mkdir(parents=True)
        for index, plan in enumerate(plans):
            resolved = run_plan(plan, style, out / name, CLOCK_START + 10_000 * number + 600 * index)
            print(f"{name}/{plan.instance_id}: resolved={resolved}")
    shutil.rmtree(HOME)


if __name__ == "__main__":
    main()
