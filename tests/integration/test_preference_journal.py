"""`compare-preference` killed at every step: nothing is sent twice, what is whole is written."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib
import json
import os
import stat
import subprocess
import sys

import pytest
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge.errors import ConfigurationError
from rollout_files import command, picture

FILE = "vlm_preference_comparison.json"
JOURNAL = ".vlm_preference_comparison"
STEPS = [
    "state.json",
    "request-01.json",
    "transport-boundary-01.json",
    "response-01.json",
    "request-02.json",
    "transport-boundary-02.json",
    "response-02.json",
    "report-ready.json",
    FILE,
]


def answer(number, body):
    verdict = {
        "preference": "AB"[number % 2],
        "confidence": "high",
        "observable_support": ["the gripper is closed"],
        "critical_defects": {"A": ["none visible"], "B": ["none visible"]},
        "uncertainty": "the back is hidden",
    }
    return judge_server.completion(verdict, model=body["model"])


@pytest.fixture
def server():
    with judge_server.JudgeServer(answer=answer) as running:
        yield running


@pytest.fixture(autouse=True)
def images(tmp_path, monkeypatch):
    monkeypatch.setenv("VLM_EVAL_API_KEY", "sk-audit-0123456789")
    (tmp_path / "one.png").write_bytes(picture(50))
    (tmp_path / "two.png").write_bytes(picture(200))


def call(server, tmp_path):
    paths = [str(tmp_path / name) for name in ("one.png", "two.png", "out")]
    return paths, {"model": "judge", "endpoint_url": server.url, "task": "hold the cube"}


def compare(server, tmp_path, **more):
    paths, given = call(server, tmp_path)
    return fj.compare_preference(*paths, **given | more)


# A process that ends, as if it were killed, around the n-th file that it creates.
DYING = """
import json, os, sys
import framejudge.rollout
from framejudge import _private_files as files
when, last, paths, given = json.loads(sys.argv[1])
created, link = [0], os.link
def counted_link(*args, **more):
    created[0] += 1
    if when == "torn" and created[0] == last:
        os._exit(9)
    link(*args, **more)
os.link = counted_link
real = files.create_private
def dying(path, content):
    if when == "before" and created[0] + 1 == last:
        os._exit(9)
    real(path, content)
    if when == "after" and created[0] == last:
        os._exit(9)
for name in ("journal", "image_pair"):
    sys.modules["framejudge.rollout.audits." + name].create_private = dying
framejudge.rollout.compare_preference(*paths, **given)
"""


def die(server, tmp_path, when, step):
    arguments = json.dumps([when, step, *call(server, tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", DYING, arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 9, done.stderr


def whole_files(tmp_path):
    found = [path.name for path in (tmp_path / "out").rglob("*.json")]
    return sorted(name for name in found if not name.endswith(".part"))


@pytest.mark.parametrize("when", ["before", "torn", "after"])
@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_a_process_that_dies_leaves_no_request_to_be_sent_again(server, tmp_path, when, step):
    die(server, tmp_path, when, step)
    written = step if when == "after" else step - 1
    assert whole_files(tmp_path) == sorted(STEPS[:written])
    # A request is sent between its boundary (3, 6) and its answer (4, 7).
    reached = step + 1 if when == "after" else step
    sent = (
        (when != "after" and step == 4) or reached > 4,
        (when != "after" and step == 7) or reached > 7,
    )
    assert len(server.requests) == sum(sent)
    before = list(server.requests)
    if written >= 9:
        with pytest.raises(ConfigurationError, match="exists; an audit never replaces"):
            compare(server, tmp_path)
    elif written == 8:
        report = compare(server, tmp_path)
        assert report.status == "consistent_baseline_preference"
        folder = tmp_path / "out"
        content = (folder / FILE).read_bytes()
        assert content == (folder / JOURNAL / "report-ready.json").read_bytes()
        assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    elif (when, step) == ("before", 1):
        assert compare(server, tmp_path).status == "consistent_baseline_preference"
        assert len(server.requests) == 2
        return
    else:
        with pytest.raises(ConfigurationError, match="never sent again, so choose another"):
            compare(server, tmp_path)
        assert not (tmp_path / "out" / FILE).exists()
    assert server.requests == before


def test_each_step_is_in_the_journal_before_the_next_is_taken(server, tmp_path):
    seen = []

    def look(number, body):
        files = whole_files(tmp_path)
        sent = json.loads(
            (tmp_path / "out" / JOURNAL / f"request-{number + 1:02d}.json").read_text()
        )
        seen.append(files)
        assert sent["transport_request"] == body
        return answer(number, body)

    server.answer = look
    report = compare(server, tmp_path)
    assert report.status == "consistent_baseline_preference"
    assert seen == [sorted(STEPS[:3]), sorted(STEPS[:6])]


def test_an_answer_is_kept_as_it_came_before_it_is_read(server, tmp_path, monkeypatch):
    body = b'{"\xff": 1}'
    server.answer = lambda _n, _b: Response(body)
    # What is read is what lies in the journal already.
    module = importlib.import_module("framejudge.rollout.audits.image_pair")
    read, seen = module.read_answer, []

    def look(exchange, model):
        seen.append(whole_files(tmp_path))
        return read(exchange, model)

    monkeypatch.setattr(module, "read_answer", look)
    report = compare(server, tmp_path)
    assert report.status == "judge_error"
    assert seen == [sorted(STEPS[:4]), sorted(STEPS[:7])]
    for number in (1, 2):
        kept = tmp_path / "out" / JOURNAL / f"response-{number:02d}.json"
        record = json.loads(kept.read_text())
        assert base64.b64decode(record["body_base64"]) == body
        assert record["body_sha256"] == hashlib.sha256(body).hexdigest()
        assert record["body_bytes"] == len(body)


def test_recovery_needs_neither_images_nor_key_nor_server(server, tmp_path, monkeypatch):
    die(server, tmp_path, "before", 9)
    for name in ("one.png", "two.png"):
        (tmp_path / name).unlink()
    monkeypatch.delenv("VLM_EVAL_API_KEY")
    server.answer = lambda _n, _b: pytest.fail("asked again")
    report = compare(server, tmp_path)
    assert json.loads((tmp_path / "out" / FILE).read_text()) == report.model_dump(mode="json")


def test_a_failed_order_is_recovered_as_it_was(server, tmp_path):
    server.answer = lambda n, b: answer(n, b) if n else Response("slow down", 429)
    die(server, tmp_path, "before", 9)
    report = compare(server, tmp_path)
    assert report.status == "judge_error"
    assert report.first_order.error.stage == "provider_http_status"
    assert len(server.requests) == 2


def test_the_command_recovers_too(server, tmp_path):
    die(server, tmp_path, "torn", 9)
    (one, two, out), given = call(server, tmp_path)
    done = command(
        "compare-preference",
        *("--baseline-path", one, "--candidate-path", two, "--output-path", out),
        *("--endpoint-url", server.url, "--model", "judge", "--task", given["task"]),
    )
    assert done.returncode == 0, done.stderr
    assert "consistent_baseline_preference" in done.stdout
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "change", [{"task": "hold the ball"}, {"model": "judge-b"}, {"rubric": "straighter is better"}]
)
def test_another_call_does_not_take_over_a_journal(server, tmp_path, change):
    die(server, tmp_path, "before", 9)
    with pytest.raises(ConfigurationError, match="a call with other paths, task, model or rubric"):
        compare(server, tmp_path, **change)
    paths, given = call(server, tmp_path)
    with pytest.raises(ConfigurationError, match="a call with other paths"):
        fj.compare_preference(paths[1], paths[0], paths[2], **given)
    assert len(server.requests) == 2
    assert not (tmp_path / "out" / FILE).exists()


def edit(path, change):
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")


def swap_winner(record):
    for name in ("first_order", "reversed_order"):
        verdict = record[name]["verdict"]
        verdict["preference"] = {"A": "B", "B": "A"}[verdict["preference"]]
    record["mapped_preferences"] = ["candidate", "candidate"]
    record["status"] = "consistent_candidate_preference"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("report-ready", lambda record: record.update(status="consistent_tie")),
        ("report-ready", lambda record: record.update(escalation_required=True)),
        ("report-ready", lambda record: record.update(mapped_preferences=["tie", "tie"])),
        ("report-ready", lambda record: record.update(normalized_baseline_sha256="0" * 64)),
        ("report-ready", lambda record: record.update(result_uri="elsewhere")),
        ("report-ready", lambda record: record.update(passed=True)),
        ("report-ready", lambda record: record.pop("status")),
        ("report-ready", swap_winner),
        ("report-ready", lambda record: record["first_order"]["transport_request"].update(x=1)),
        ("response-01", lambda record: record.update(body_base64="e30=")),
        ("response-02", lambda record: record.pop("body_base64")),
        ("state", lambda record: record.update(transport_request_sha256=[])),
        ("state", lambda record: record.update(identity_sha256="0")),
    ],
)
def test_a_journal_that_was_changed_is_not_written(server, tmp_path, name, change):
    die(server, tmp_path, "before", 9)
    edit(tmp_path / "out" / JOURNAL / f"{name}.json", change)
    with pytest.raises(ConfigurationError, match=r"was changed|can't be read|is of a call"):
        compare(server, tmp_path)
    assert not (tmp_path / "out" / FILE).exists()
    assert len(server.requests) == 2


@pytest.mark.parametrize("damage", ["readable", "link", "cut", "folder link", "no state"])
def test_a_journal_that_others_could_have_written_is_not_taken(server, tmp_path, damage):
    die(server, tmp_path, "before", 9)
    folder = tmp_path / "out" / JOURNAL
    ready = folder / "report-ready.json"
    if damage == "readable":
        ready.chmod(0o622)
    elif damage == "link":
        ready.rename(tmp_path / "moved.json")
        ready.symlink_to(tmp_path / "moved.json")
    elif damage == "cut":
        ready.write_bytes(ready.read_bytes()[:-9])
    elif damage == "folder link":
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
    else:
        (folder / "state.json").unlink()
    with pytest.raises(ConfigurationError, match=r"alone|can't be read|is a link"):
        compare(server, tmp_path)
    assert not (tmp_path / "out" / FILE).exists()
    assert len(server.requests) == 2


def test_a_journal_that_can_not_be_written_stops_before_the_next_call(server, tmp_path):
    folder = tmp_path / "out" / JOURNAL

    def block(number, body):
        (folder / "response-01.json").write_text("")
        return answer(number, body)

    server.answer = block
    with pytest.raises(ConfigurationError, match=r"response-01\.json: exists"):
        compare(server, tmp_path)
    assert len(server.requests) == 1
    assert not (tmp_path / "out" / FILE).exists()


def test_of_two_at_once_one_asks(server, tmp_path):
    async def main():
        paths, given = call(server, tmp_path)
        both = (fj.compare_preference_async(*paths, **given) for _ in range(2))
        return await asyncio.gather(*both, return_exceptions=True)

    outcomes = asyncio.run(main())
    (refused,) = (each for each in outcomes if isinstance(each, Exception))
    assert isinstance(refused, (ConfigurationError, FileExistsError))
    assert len(server.requests) == 2


def test_a_store_behind_a_url_holds_report_and_journal(server, tmp_path):
    from fsspec.implementations.memory import MemoryFileSystem

    (one, two, _), given = call(server, tmp_path)
    try:
        report = fj.compare_preference(one, two, "memory://audit", **given)
        names = [os.path.basename(name) for name in MemoryFileSystem.store]  # noqa: PTH119
        assert sorted(names) == sorted(STEPS)
        with pytest.raises(ConfigurationError, match="exists"):
            fj.compare_preference(one, two, "memory://audit", **given)
        del MemoryFileSystem.store[f"/audit/{FILE}"]
        assert fj.compare_preference(one, two, "memory://audit", **given) == report
        del MemoryFileSystem.store[f"/audit/{FILE}"]
        del MemoryFileSystem.store[f"/audit/{JOURNAL}/report-ready.json"]
        with pytest.raises(ConfigurationError, match="never sent again"):
            fj.compare_preference(one, two, "memory://audit", **given)
    finally:
        MemoryFileSystem.store.clear()
    assert len(server.requests) == 2
