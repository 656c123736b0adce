"""The command: tables, files, messages and exit statuses, in a process of its own."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.usefixtures("weights")

ROW = {
    "session_id": "cam-1",
    "assistant_id": "vlm",
    "qa_id": "f1",
    "assistant": "A person is lying motionless on the floor near the entrance.",
    "ground_truth_assistant": "A person fell near the entrance and requires assistance.",
    "weather": "rain",
}
SAME = {**ROW, "qa_id": "f2", "assistant": ROW["ground_truth_assistant"]}
WRONG = {**ROW, "qa_id": "f3", "assistant": "A truck is parked in a field."}
BLANK = {**ROW, "qa_id": "f4", "assistant": ""}


def framejudge(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "framejudge", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120", **environment},
        timeout=300,
        check=False,
    )


@pytest.fixture
def jsonl(tmp_path):
    def write(*rows, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.mark.parametrize(
    ("rows", "options", "status", "word"),
    [
        ([SAME], [], 0, "PASS"),
        ([SAME, WRONG], [], 1, "FAIL"),
        ([SAME, WRONG], ["--exit-zero"], 0, "FAIL"),
        ([SAME, WRONG], ["--max-hallucination-rate", "0.5"], 0, "PASS"),
        ([SAME, WRONG], ["--threshold", "0"], 0, "PASS"),
        ([SAME, BLANK], [], 3, "INCOMPLETE"),
        ([SAME, BLANK], ["--exit-zero"], 3, "INCOMPLETE"),
        ([WRONG, BLANK], [], 1, "FAIL"),
        ([WRONG, BLANK], ["--exit-zero"], 3, "FAIL"),
        ([], [], 3, "INCOMPLETE"),
    ],
)
def test_the_exit_status_and_the_word_are_the_verdicts(jsonl, rows, options, status, word):
    done = framejudge("score", jsonl(*rows), *options)
    assert done.returncode == status, done.stderr
    assert f"\n{word}  " in done.stdout


def test_score_writes_every_format_and_keeps_the_inputs_columns(jsonl, tmp_path):
    names = ["run.json", "run.jsonl", "run.csv", "run.parquet"]
    outputs = [part for name in names for part in ("-o", tmp_path / name)]
    done = framejudge("score", jsonl(SAME, WRONG, BLANK), *outputs)
    assert done.returncode == 1
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["verdict"]["passed"] is False
    assert [f["qa_id"] for f in run["frames"]] == ["f2", "f3", "f4"]
    assert run["hallucination"][0]["interactions"][2]["similarity_score"] is None
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    table = pq.read_table(tmp_path / "run.parquet").to_pylist()
    cells = list(csv.DictReader((tmp_path / "run.csv").read_text().splitlines()))
    for rows in (lines, table):
        assert [r["similarity_score"] for r in rows][::2] == [1.0, None]
        assert [r["is_hallucination"] for r in rows] == [False, True, None]
        assert [r["weather"] for r in rows] == ["rain"] * 3
    assert [c["status"] for c in cells] == ["scored", "scored", "unscored"]
    assert [c["is_hallucination"] for c in cells] == ["false", "true", ""]
    assert not list(tmp_path.glob(".*.part"))


def test_stdout_carries_only_json_when_asked_for(jsonl):
    done = framejudge("score", jsonl(SAME), "-o", "-")
    assert json.loads(done.stdout)["verdict"]["passed"] is True
    assert "PASS" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "none.jsonl"], "none.jsonl: no such file"),
        (["score", "none.txt"], "unknown file type '.txt'; accepted: .jsonl, .csv"),
        (["score", "DATA", "--threshold", "75"], "threshold is 75.0; accepted: a number in [0, 1]"),
        (["score", "DATA", "-o", "run.xlsx"], "unknown output type '.xlsx'; accepted: .json"),
        (["score", "DATA", "-o", "no/such/run.json"], "the folder no/such does not exist"),
        (["score", "DATA", "--model", "gpt-9"], "no model named 'gpt-9'"),
        (["score", "DATA", "--reference", "worst"], "worst"),
        (["score"], "DATA"),
        (["scor"], "scor"),
        (["bench", "gpu"], "no benchmark is called 'gpu'; there are: cosine"),
    ],
)
def test_a_usage_error_exits_with_2_and_says_what_is_accepted(jsonl, arguments, message):
    path = jsonl(SAME)
    done = framejudge(*[path if word == "DATA" else word for word in arguments])
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_bad_row_is_named_with_its_line(jsonl):
    path = jsonl(SAME)
    path.write_text(path.read_text() + "{broken\n")
    done = framejudge("score", path)
    assert done.returncode == 3
    assert "data.jsonl, line 2: not valid JSON" in done.stdout
    assert "1/2 frames scored" in done.stdout


def test_an_interrupt_exits_with_130(jsonl):
    rows = [{**ROW, "qa_id": str(i), "assistant": f"{i} " + "word " * 300} for i in range(2000)]
    process = subprocess.Popen(
        [sys.executable, "-m", "framejudge", "score", str(jsonl(*rows))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.endswith("interrupted\n")


def test_a_long_run_reports_progress_on_stderr(jsonl):
    rows = [{**ROW, "qa_id": str(i), "assistant": f"{i} " + "word " * 300} for i in range(16)]
    done = framejudge("score", jsonl(*rows))
    assert "scoring frames: " in done.stderr
    assert "scoring frames" not in done.stdout


def test_an_option_can_come_from_the_environment(jsonl):
    done = framejudge("score", jsonl(SAME, WRONG), FRAMEJUDGE_MAX_HALLUCINATION_RATE="1")
    assert done.returncode == 0


def test_the_demo_prints_the_tables_writes_json_and_says_what_to_do_next(tmp_path):
    done = framejudge("demo", "-o", tmp_path / "demo.json")
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "demo.json").read_text())
    sessions = {(r["session_id"], r["assistant_id"]) for r in run["similarity"]}
    assert len({session for session, _ in sessions}) >= 4
    assert len({assistant for _, assistant in sessions}) == 2
    assert len({f["qa_id"] for f in run["frames"]}) >= 60
    for session, assistant in sessions:
        assert f"Session: {session}  |  Assistant: {assistant}" in done.stdout
    assert done.stdout.count("HALLUCINATION\n") == sum(f["is_hallucination"] for f in run["frames"])
    assert "framejudge score YOUR.jsonl" in done.stdout
    scores = [f["similarity_score"] for f in run["frames"]]
    for low, high in [(0.9, 1.0001), (0.75, 0.9), (0.5, 0.75), (0.0, 0.5)]:
        assert any(low <= score < high for score in scores)


def test_version_says_how_it_was_built():
    done = framejudge("--version", "--verbose")
    assert done.returncode == 0
    assert done.stdout.startswith("framejudge 0.1.0\n")
    assert "isa: " in done.stdout
    assert "threads: " in done.stdout


def test_the_table_shows_whole_ids_on_a_narrow_terminal(jsonl):
    rows = [{**SAME, "session_id": "cam-entrance-01", "assistant_id": "argos-large"}]
    done = framejudge("score", jsonl(*rows), COLUMNS="80")
    line = next(row for row in done.stdout.splitlines() if "reliable" in row)
    assert line.split() == [
        "cam-entrance-01", "argos-large", "1.00", "0", "of", "1", "0%", "reliable",
    ]  # fmt: skip
    assert all(len(row) <= 80 for row in done.stdout.splitlines() if "─" in row)


def test_a_reader_that_goes_away_is_no_failed_gate(jsonl):
    rows = [{**SAME, "qa_id": str(i)} for i in range(3000)]
    command = [sys.executable, "-m", "framejudge", "score", str(jsonl(*rows)), "--frames", "all"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=120) == 141
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


def test_an_output_may_not_be_the_input(jsonl):
    path = jsonl(SAME)
    before = path.read_bytes()
    done = framejudge("score", path, "-o", path)
    assert (done.returncode, path.read_bytes()) == (2, before)
    assert "is the input; choose another output" in done.stderr


def test_a_setting_that_cannot_work_is_a_usage_error():
    done = framejudge("--version", "--verbose", FRAMEJUDGE_ISA="mmx")
    assert done.returncode == 2
    assert "mmx" in done.stderr
    assert "Traceback" not in done.stderr


def test_control_characters_in_ids_reach_no_terminal(jsonl):
    rows = [{**SAME, "session_id": "s\nPASS: forged", "qa_id": "\x1b[2Jf1"}]
    done = framejudge("score", jsonl(*rows), "--frames", "all")
    assert "\x1b" not in done.stdout
    assert not any(line.startswith("PASS: forged") for line in done.stdout.splitlines())
    assert r"s\nPASS: forged" in done.stdout


@pytest.mark.parametrize(
    ("limit", "status", "shown"),
    [("0.125", 0, "highest rate 12.5%, at most 12.5% allowed"), ("0.1249", 1, "at most 12.49%")],
)
def test_the_verdict_shows_the_decimals_that_its_comparison_needs(jsonl, limit, status, shown):
    rows = [{**SAME, "qa_id": str(i)} for i in range(7)] + [WRONG]
    done = framejudge("score", jsonl(*rows), "--max-hallucination-rate", limit)
    assert done.returncode == status
    assert shown in done.stdout
