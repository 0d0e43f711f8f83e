"""opencode: its storage of one file a session, a message and a part of a message.

Source: ``packages/opencode/src/session/message-v2.ts`` of opencode 1.x, and fixtures of others. Files of one storage
are read together, as the path of a part does not tell its session; each session is a trajectory. Prompt tokens are the
sum of uncached, read and written ones. Parts whose message is lost are kept.
"""

from __future__ import annotations

from typing import Any

from trajlab.formats import Variant
from trajlab.formats._opencode_session import Parts, fill
from trajlab.formats._turns import task_of_prompt
from trajlab.formats._values import Records, load, mapping, moment, word
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle, SourceFile, joined_path, parts_of
from trajlab.sources.probe import Probe

VARIANTS = {
    "storage": Variant(
        "`session/<project>/<id>.json`, `message/<session>/<id>.json`, `part/<message>/<id>.json`",
        frozenset(
            {
                "native_id", "task_id", "agent", "agent_version", "model", "logged_termination", "stop_reason",
                "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "seconds",
                "started_at", "gradable", "parent_native_id",
            }
        ),
    ),
}  # fmt: skip

Found = dict[str, dict[str, list[dict[str, Any]]]]
"""Records by their kind and owner."""

_DEPTHS = {"part": (1, 2, 3), "message": (2,), "session": (2,)}
"""How far above the file the folder of that name stands: older versions nest deeper, or not at all."""
_KEYS = {"part": {"id", "type"}, "message": {"id", "role", "time"}, "session": {"id", "time", "version"}}


def _place(path: list[str]) -> tuple[str, list[str]] | None:
    """Kind of file, and the folder of the storage."""
    folders = path[:-1]
    for kind, depths in _DEPTHS.items():
        for depth in depths:
            if len(folders) >= depth and folders[-depth] == kind:
                root = folders[:-depth]
                nested = kind != "session" and root[-1:] == ["session"]
                return kind, root[:-1] if nested else root
    return None


def group(relpath: str, variant: str) -> str | None:
    """The storage."""
    place = _place(parts_of(relpath))
    return joined_path(place[1]) if place is not None else None


def recognise(probe: Probe) -> str | None:
    """By its folder, with the keys that a file of that kind has."""
    if probe.shape != "object" or not probe.name.endswith(".json"):
        return None
    place = _place(parts_of(probe.file.path))
    return "storage" if place is not None and _KEYS[place[0]] <= probe.keys else None


def read(bundle: Bundle) -> Records:
    """One trajectory a session; its parts, which hold all texts, are read when it is its turn."""
    problems: list[Problem] = []
    found: Found = {"session": {}, "message": {}, "part": {}}
    waiting: dict[str, list[SourceFile]] = {}
    for file in bundle.files:
        path = parts_of(file.path)
        if (_place(path) or ("part",))[0] == "part":
            waiting.setdefault(path[-2], []).append(file)
        else:
            _keep(file, found, problems)
    named = {word(message.get("id")) for messages in found["message"].values() for message in messages}
    for folder in sorted(waiting.keys() - named):  # older versions name it otherwise, or the message is lost
        for file in waiting.pop(folder):
            _keep(file, found, problems)
    sessions = _by_session(found)
    for number, name in enumerate(sorted(sessions)):
        messages = [(message, _with_waiting(message, parts, waiting, problems)) for message, parts in sessions[name]]
        yield from problems
        problems.clear()
        yield _trajectory(bundle, number, name, messages, found["session"].get(name, []))
    yield from problems
    if not sessions:
        yield Problem("no_messages", "no message of a session; expected files of opencode's storage")


def _with_waiting(
    message: dict[str, Any],
    parts: list[dict[str, Any]],
    waiting: dict[str, list[SourceFile]],
    problems: list[Problem],
) -> list[dict[str, Any]]:
    """Parts of a message in order, those in the folder named for it among them."""
    own: Found = {"session": {}, "message": {}, "part": {}}
    for file in waiting.pop(word(message.get("id")) or "", []):
        _keep(file, own, problems)
    return sorted([*parts, *(part for held in own["part"].values() for part in held)], key=_file_of)


def _file_of(part: dict[str, Any]) -> str:
    return str(part["#file"])


def _keep(file: SourceFile, found: Found, problems: list[Problem]) -> None:
    """Sessions by their id, messages by their session's, parts by their message's."""
    path = parts_of(file.path)
    name = path[-1]
    kind = (_place(path) or ("part",))[0]
    try:
        value = load(file, problems)
    except (ValueError, RecursionError) as error:
        problems.append(Problem("unreadable_record", f"{name}: {error}; expected a {kind} of opencode"))
        return
    record = mapping(value)
    if not record:
        problems.append(Problem("unreadable_record", f"{name}: found no object, expected a {kind} of opencode"))
        return
    owner = {"session": "id", "message": "sessionID", "part": "messageID"}[kind]
    key = word(record.get(owner)) or (name.removesuffix(".json") if kind == "session" else path[-2])
    found[kind].setdefault(key, []).append({**record, "#file": name})


def _by_session(found: Found) -> dict[str, list[Parts]]:
    """Messages of each session with their parts, in order; parts without a message come last."""
    parts = {key: sorted(group_, key=_file_of) for key, group_ in found["part"].items()}
    sessions: dict[str, list[Parts]] = {}
    for session, messages in found["message"].items():
        for message in sorted(messages, key=_when):
            key = word(message.get("id")) or ""
            sessions.setdefault(session, []).append((message, parts.pop(key, [])))
    for key, lost in parts.items():
        session = next((name for part in lost if (name := word(part.get("sessionID")))), "")
        sessions.setdefault(session, []).append(({"id": key}, lost))
    for session in found["session"]:
        sessions.setdefault(session, [])
    return sessions


def _when(message: dict[str, Any]) -> tuple[float, str]:
    return moment(mapping(message.get("time")).get("created")) or 0.0, word(message.get("id")) or ""


def _trajectory(
    bundle: Bundle, number: int, name: str, messages: list[Parts], heads: list[dict[str, Any]]
) -> Trajectory:
    trajectory = Trajectory(bundle.variant, str(number), native_id=name or None, agent="opencode")
    head = next(iter(heads), {})
    trajectory.agent_version = word(head.get("version"))
    trajectory.parent_native_id = word(head.get("parentID"))
    if trajectory.parent_native_id:
        trajectory.agent, trajectory.gradable = "opencode subagent", False
    try:
        fill(trajectory, messages, mapping(head.get("time")))
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    task_of_prompt(trajectory)
    return trajectory
