"""What `trajlab convert --to atif` writes, under Harbor's own models and its own validator.

Usage: trajlab convert data_samples -o OUT --to atif && python3.12 tests/studies/harbor_models.py OUT   (needs harbor)
Each document is held against `harbor.models.trajectories.Trajectory` and `TrajectoryValidator`; what the models hold of
it is written again and compared with it: a field that they drop would show. So that a validator which accepts
anything would show, too, each document is offered once more with a step out of order. Prints JSON; the exit code is
1 where a document is refused, altered, or accepted broken.

harbor 0.26.0, pydantic 2.14.4, of all samples: 992 documents, 992 valid, 0 altered, 0 accepted broken.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator


def refused(document: dict[str, Any]) -> str | None:
    """Why Harbor refuses a document; ``None`` where it does not."""
    validator = TrajectoryValidator()
    return None if validator.validate(document) else "; ".join(validator.errors)


def altered(document: dict[str, Any]) -> bool:
    """Whether Harbor's models hold something else than the document says."""
    held = Trajectory.model_validate(document).model_dump(mode="json", exclude_unset=True)
    return bool(held != document)


def broken(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its first step numbered wrongly."""
    first, *others = document["steps"]
    return {**document, "steps": [{**first, "step_id": first["step_id"] + 1}, *others]}


def main() -> None:
    found: Counter[str] = Counter(documents=0, valid=0, altered=0, accepted_broken=0)
    reasons: Counter[str] = Counter()
    for path in sorted(Path(sys.argv[1]).rglob("*.trajectory.json")):
        document = json.loads(path.read_bytes())
        found["documents"] += 1
        reason = refused(document)
        if reason is not None:
            reasons[reason[:200]] += 1
            continue
        found["valid"] += 1
        found["altered"] += altered(document)
        found["accepted_broken"] += refused(broken(document)) is None
    print(json.dumps({"harbor": version("harbor"), **found, "refused": dict(reasons.most_common(20))}, indent=1))
    good = found["documents"] == found["valid"] > 0
    sys.exit(not good or found["altered"] + found["accepted_broken"] > 0)


if __name__ == "__main__":
    main()
