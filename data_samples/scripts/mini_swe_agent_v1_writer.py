"""Write trajectories by running mini-swe-agent 1.x with its scripted test model and a real local shell.

Usage: python mini_swe_agent_v1_writer.py OUT   (needs: mini-swe-agent==1.15.0 or ==1.3.0, pyyaml, pytest, git)
`save_traj` of the installed version writes the files: from 1.5.0 on with `trajectory_format: mini-swe-agent-1`,
before that with no format name at all. The agent's bare message list (as `json.dumps(agent.messages)`) is written
beside by 1.3.0. preds.json is ours: the package's batch runner, which writes it, needs the `datasets` package. `extra.response` holds a made-up provider answer, whose token counts are text lengths over four.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mini_swe_agent_common import CLOCK_START, cleaned, evaluate, make_repository, quiet_environment, rewrite
from mini_swe_agent_plans import VERSION_1, VERSION_1_3, Plan
from mini_swe_agent_tasks import TASKS

sys.dont_write_bytecode = True
HOME = Path(tempfile.mkdtemp(prefix="mini-home-"))
quiet_environment(HOME)

import yaml  # noqa: E402
from minisweagent import __version__, package_dir  # noqa: E402
from minisweagent.agents.default import DefaultAgent  # noqa: E402
from minisweagent.environments.local import LocalEnvironment  # noqa: E402
from minisweagent.models.test_models import DeterministicModel  # noqa: E402
from minisweagent.run.utils.save import save_traj  # noqa: E402

EARLY = tuple(int(part) for part in __version__.split(".")[:2]) < (1, 5)


class ScriptedTextModel(DeterministicModel):
    """The scripted model, answering with the provider's record as a real model of 1.15 does."""

    def query(self, messages: list[dict[str, Any]], **kwargs: Any) -> dict[str, Any]:
        answer = dict(super().query(messages, **kwargs))
        if EARLY:
            return answer
        prompt = sum(len(str(m["content"])) for m in messages) // 4
        completion = len(answer["content"]) // 4
        message = {"role": "assistant", "content": answer["content"], "tool_calls": None}
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        response = {"id": f"chatcmpl-{self.n_calls:04d}", "created": int(CLOCK_START), "model": "scripted-text",
                    "object": "chat.completion", "usage": usage,
                    "choices": [{"finish_reason": "stop", "index": 0, "message": message}]}
        return {**answer, "extra": {"response": response}}


def said(plan: Plan) -> list[str]:
    """The plan as texts; early versions know only an older word for submitting."""
    texts = []
    for thought, command in plan.turns:
        commands = [command] if isinstance(command, str) else command or []
        if EARLY:
            commands = [c.replace("COMPLETE_TASK_AND_SUBMIT", "MINI_SWE_AGENT") for c in commands]
        block = f"\n\n```bash\n{' && '.join(commands)}\n```" if commands else ""
        texts.append(f"THOUGHT: {thought}{block}")
    return texts


def add_prediction(path: Path, instance_id: str, patch: str) -> None:
    predictions = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    predictions[instance_id] = {"model_name_or_path": "scripted-text", "instance_id": instance_id, "model_patch": patch}
    path.write_text(json.dumps(predictions, indent=2), encoding="utf-8")


def run_plan(plan: Plan, out: Path) -> bool:
    task = TASKS[plan.instance_id]
    config = yaml.safe_load((package_dir / "config" / "extra" / "swebench.yaml").read_text())
    with tempfile.TemporaryDirectory(prefix="mini-repo-") as name:
        folder = Path(name)
        make_repository(task, folder)
        model = ScriptedTextModel(outputs=said(plan), model_name="scripted-text", cost_per_call=0.0031)
        environment = LocalEnvironment(cwd=str(folder), timeout=plan.timeout)
        agent = DefaultAgent(model, environment, **{**config["agent"], **plan.agent})
        status, result = agent.run(task.problem_statement)
    path = out / plan.instance_id / f"{plan.instance_id}.traj.json"
    save_traj(agent, path, exit_status=status, result=result, instance_id=plan.instance_id)
    replacements = {str(folder): "/testbed", f"{__name__}.Scripted": "scripted_models.Scripted"}
    rewrite(path, replacements, CLOCK_START)
    add_prediction(out / "preds.json", plan.instance_id, result)
    if EARLY:
        bare = out.parent / "bare_messages" / f"{plan.instance_id}.traj.json"
        bare.parent.mkdir(exist_ok=True)
        bare.write_text(json.dumps(cleaned(agent.messages, replacements), indent=2), encoding="utf-8")
    report = evaluate(task, result)
    (path.parent / "report.json").write_text(json.dumps({plan.instance_id: report}), encoding="utf-8")
    return bool(report["resolved"])


def main() -> None:
    out = Path(sys.argv[1]) / f"version_{__version__}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for plan in VERSION_1_3 if EARLY else VERSION_1:
        print(f"{out.name}/{plan.instance_id}: resolved={run_plan(plan, out)}")
    shutil.rmtree(HOME)


if __name__ == "__main__":
    main()
