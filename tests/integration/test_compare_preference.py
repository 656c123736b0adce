"""`compare-preference`: one judge, two images, both orders, over a real server; each sent once."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import stat

import numpy as np
import pytest
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge import frames
from framejudge.errors import AuditAccessError, ConfigurationError, DataError, ImageError
from framejudge.schemas.limitations import LIMITATIONS
from rollout_files import command, picture

completion = judge_server.completion
pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")
KEY = "sk-audit-0123456789/abcdef"
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
]


@pytest.fixture
def server():
    with judge_server.JudgeServer(answer=prefers("A", "B")) as running:
        yield running


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    for name in ("NEBIUS_TOKEN_FACTORY_KEY", "OPENAI_BASE_URL", "NEBIUS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "never-used")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VLM_EVAL_API_KEY", KEY)


def said(preference="A", confidence="high", **more):
    return {
        "preference": preference,
        "confidence": confidence,
        "observable_support": ["SEEN: the gripper is closed"],
        "critical_defects": {"A": ["none visible"], "B": ["none visible"]},
        "uncertainty": "DOUBT: the back is hidden",
        **more,
    }


def prefers(*verdicts):
    """A judge that gives these verdicts, one for each order."""

    def answer(number, body):
        found = verdicts[number % len(verdicts)]
        if isinstance(found, str):
            found = said(found)
        return found(body) if callable(found) else completion(found, model=body["model"])

    return answer


def paths(tmp_path):
    for name, level in (("one", 50), ("two", 200)):
        if not (tmp_path / f"{name}.png").exists():
            (tmp_path / f"{name}.png").write_bytes(picture(level))
    return [str(tmp_path / name) for name in ("one.png", "two.png", "out")]


def given(server, **more):
    return {"model": "judge", "endpoint_url": server.url, "task": "hold the cube", **more}


def compare(server, tmp_path, **more):
    return fj.compare_preference(*paths(tmp_path), **given(server, **more))


def artifact(tmp_path):
    return json.loads((tmp_path / "out" / FILE).read_text())


def journal(tmp_path):
    folder = tmp_path / "out" / JOURNAL
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def words(text):
    return set(text.split())


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


# What is sent


def test_both_orders_are_alike_but_for_the_images_places(server, tmp_path):
    report = compare(server, tmp_path)
    assert server.checks == 0
    assert server.most_at_once == 1
    first, second = server.requests
    parts = [body["messages"][0]["content"] for body in (first, second)]
    for content in parts:
        assert [part["type"] for part in content] == [
            "text",
            *("text", "image_url"),
            *("text", "image_url"),
        ]
        assert [content[1]["text"], content[3]["text"]] == ["IMAGE A", "IMAGE B"]
    assert parts[0][0] == parts[1][0]
    urls = [[content[2]["image_url"]["url"], content[4]["image_url"]["url"]] for content in parts]
    assert urls[0] == urls[1][::-1]
    assert urls[0][0] != urls[0][1]
    sent = [base64.b64decode(url.removeprefix("data:image/png;base64,")) for url in urls[0]]
    # 50 is the one's grey level, and 200 the other's.
    assert [int(frames.decode(image).max()) for image in sent] == [50, 200]
    hashes = [hashlib.sha256(image).hexdigest() for image in sent]
    assert [report.normalized_baseline_sha256, report.normalized_candidate_sha256] == hashes
    pair = json.dumps(sorted(hashes), separators=(",", ":"))
    assert report.unordered_pair_sha256 == hashlib.sha256(pair.encode()).hexdigest()
    rest = [
        {key: value for key, value in body.items() if key != "messages"} for body in (first, second)
    ]
    assert rest[0] == rest[1]
    assert "max_tokens" not in rest[0]
    for body in (first, second):
        prompt = body["messages"][0]["content"][0]["text"]
        assert not re.search("baseline|candidate", prompt, re.IGNORECASE)
        assert "hold the cube" in prompt
        assert "https://json-schema.org/draft/2020-12/schema" in prompt
    for headers, outcome in zip(
        server.headers, (report.first_order, report.reversed_order), strict=True
    ):
        assert headers["authorization"] == f"Bearer {KEY}"
        body = outcome.transport_request
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        assert outcome.transport_request_sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert int(headers["content-length"]) == len(text.encode())
    assert [report.first_order.transport_request, report.reversed_order.transport_request] == [
        first,
        second,
    ]
    arms = [
        (each.order_id, each.A_arm, each.B_arm)
        for each in (report.first_order, report.reversed_order)
    ]
    assert arms == [
        ("baseline_as_A", "baseline", "candidate"),
        ("candidate_as_A", "candidate", "baseline"),
    ]


def test_a_models_own_extras_are_sent_in_both_orders(server, tmp_path):
    compare(server, tmp_path, model="moonshotai/Kimi-K3")
    for body in server.requests:
        assert body["reasoning_effort"] == "low"
        assert "temperature" not in body


def test_metadata_and_names_of_the_images_are_not_sent(server, tmp_path):
    from PIL import Image

    picture_ = Image.fromarray(np.full((24, 32, 3), 9, np.uint8))
    exif = Image.Exif()
    exif[0x010E] = "SECRETNOTE"
    picture_.save(tmp_path / "one.jpg", exif=exif, icc_profile=b"SECRETPROFILE" * 20)
    (tmp_path / "two.png").write_bytes(picture(200))
    one, two, out = (str(tmp_path / name) for name in ("one.jpg", "two.png", "out"))
    fj.compare_preference(one, two, out, **given(server))
    for body in server.requests:
        for part in body["messages"][0]["content"]:
            url = part.get("image_url", {}).get("url", "")
            assert b"SECRET" not in base64.b64decode(url.partition(",")[2])
        assert "one.jpg" not in json.dumps(body)
    manifest = artifact(tmp_path)["first_order"]["request"]["request_manifest"]
    assert [frame["label"] for frame in manifest["frames"]] == ["IMAGE A", "IMAGE B"]


# How it ends


@pytest.mark.parametrize(
    ("verdicts", "status", "mapped"),
    [
        (("A", "B"), "consistent_baseline_preference", ["baseline", "baseline"]),
        (("B", "A"), "consistent_candidate_preference", ["candidate", "candidate"]),
        (("tie", "tie"), "consistent_tie", ["tie", "tie"]),
        (("A", "A"), "order_disagreement_or_nondeterminism", ["baseline", "candidate"]),
        (("B", "tie"), "order_disagreement_or_nondeterminism", ["candidate", "tie"]),
        (("A", said("B", "medium")), "low_confidence", ["baseline", "baseline"]),
        ((said("A", "low"), "A"), "low_confidence", ["baseline", "candidate"]),
        (("unresolved", "B"), "unresolved", ["unresolved", "baseline"]),
        ((said("A", "low"), "unresolved"), "unresolved", ["baseline", "unresolved"]),
        (("A", lambda _b: Response("no", 500)), "judge_error", ["baseline", None]),
        ((lambda _b: Response("no", 500), "unresolved"), "judge_error", [None, "unresolved"]),
    ],
)
def test_what_both_orders_say_decides_and_nothing_is_averaged(
    server, tmp_path, verdicts, status, mapped
):
    server.answer = prefers(*verdicts)
    report = compare(server, tmp_path)
    assert (report.status, report.mapped_preferences) == (status, mapped)
    assert report.agreement_eligible is status.startswith("consistent")
    assert report.escalation_required is not report.agreement_eligible
    assert len(server.requests) == 2
    assert artifact(tmp_path) == report.model_dump(mode="json")


async def _late():
    await asyncio.sleep(3)
    return Response("too late")


CONTRACT = "response_contract"


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    ("answer", "stage", "error_type"),
    [
        (lambda _b: _late(), "transport", "transport_error"),
        (
            lambda _b: Response("{}", headers={"content-length": "999"}),
            "transport",
            "transport_error",
        ),
        (lambda _b: Response("no", 429), "provider_http_status", "provider_http_status_error"),
        (lambda _b: Response("no", 403), "provider_http_status", "provider_http_status_error"),
        (lambda _b: Response("{"), "response_decode", "provider_response_decode_error"),
        (lambda _b: completion(said(), model="other"), CONTRACT, "response_contract_error"),
        (
            lambda _b: completion(said(), model="judge", finish="length"),
            CONTRACT,
            "response_contract_error",
        ),
        (lambda _b: completion("no", model="judge"), CONTRACT, "response_contract_error"),
    ],
)
def test_an_order_that_fails_is_kept_and_not_asked_again(
    server, tmp_path, order, answer, stage, error_type
):
    verdicts = ["A", "B"]
    verdicts[order] = answer
    server.answer = prefers(*verdicts)
    report = compare(server, tmp_path, timeout_s=1)
    assert report.status == "judge_error"
    assert len(server.requests) == 2
    outcomes = [report.first_order, report.reversed_order]
    failed, other = outcomes[order], outcomes[1 - order]
    assert (failed.error.stage, failed.error.error_type) == (stage, error_type)
    assert failed.verdict is None
    assert (failed.provider is None) == (stage == "transport")
    assert failed.request.request_manifest.requested_model == "judge"
    assert other.error is None
    assert other.provider.parser_version == "npa_vlm_preference_hosted_json_v1"
    assert server.url.removesuffix("/v1") not in (tmp_path / "out" / FILE).read_text()


def test_an_answer_that_refuses_is_an_error(server, tmp_path):
    refused = completion(said(), model="judge")
    refused["choices"][0]["message"]["refusal"] = "I won't"
    server.answer = prefers("A", lambda _b: refused)
    report = compare(server, tmp_path)
    assert "refused" in report.reversed_order.error.message


GOOD = json.dumps(said())
MUTATIONS = {
    "a fence": f"```json\n{GOOD}\n```",
    "prose before": f"Sure: {GOOD}",
    "prose after": f"{GOOD} done",
    "two objects": GOOD + GOOD,
    "a byte order mark": "\ufeff" + GOOD,
    "a hard space": "\u00a0" + GOOD,
    "an array": f"[{GOOD}]",
    "null": "null",
    "text": json.dumps(GOOD),
    "empty": "",
    "cut": GOOD[:-1],
    "a key twice": GOOD[:-1] + ', "preference": "A"}',
    "a key twice below": GOOD.replace('{"A": ', '{"A": ["none"], "A": '),
    "NaN": GOOD.replace('"high"', "NaN"),
    "another key": json.dumps(said(score=1)),
    "another key below": json.dumps(said(critical_defects={"A": ["x"], "B": ["x"], "C": ["x"]})),
    "preference a": json.dumps(said("a")),
    "preference with a space": json.dumps(said(" A")),
    "preference IMAGE A": json.dumps(said("IMAGE A")),
    "preference null": json.dumps(said(None)),
    "preference true": json.dumps(said(True)),
    "confidence HIGH": json.dumps(said("A", "HIGH")),
    "confidence number": json.dumps(said("A", 1)),
    "support empty": json.dumps(said(observable_support=[])),
    "support blank": json.dumps(said(observable_support=["seen", " \n"])),
    "support text": json.dumps(said(observable_support="seen")),
    "support number": json.dumps(said(observable_support=[1])),
    "support null": json.dumps(said(observable_support=None)),
    "defects empty": json.dumps(said(critical_defects={"A": [], "B": ["x"]})),
    "defects list": json.dumps(said(critical_defects=["x"])),
    "defects blank": json.dumps(said(critical_defects={"A": ["x"], "B": [""]})),
    "defects without B": json.dumps(said(critical_defects={"A": ["x"]})),
    "uncertainty blank": json.dumps(said(uncertainty="  ")),
    "uncertainty list": json.dumps(said(uncertainty=["x"])),
    "a lone surrogate": json.dumps(said(uncertainty="\ud800")),
    **{
        f"without {name}": json.dumps({k: v for k, v in said().items() if k != name})
        for name in said()
    },
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_verdict_that_is_not_exactly_the_documented_one_is_rejected(server, tmp_path, name):
    server.answer = prefers(lambda _b: completion(MUTATIONS[name], model="judge"), "B")
    report = compare(server, tmp_path)
    assert report.status == "judge_error"
    error = report.first_order.error
    assert (error.stage, error.error_type) == ("response_contract", "response_contract_error")
    assert report.first_order.provider.parser_version == "npa_vlm_eval_unparsed_v1"


@pytest.mark.parametrize(
    "text",
    [GOOD, f"\n {json.dumps(said(), indent=3)}\t", json.dumps(dict(reversed(said().items())))],
)
def test_space_and_order_of_keys_mean_nothing(server, tmp_path, text):
    server.answer = prefers(lambda _b: completion(text, model="judge"), "B")
    assert compare(server, tmp_path).status == "consistent_baseline_preference"


def test_an_answer_that_repeats_the_key_is_kept_nowhere(server, tmp_path):
    server.answer = prefers(lambda _b: completion(said(uncertainty=KEY), model="judge"), "B")
    report = compare(server, tmp_path)
    assert "repeats the API key" in report.first_order.error.message
    assert report.first_order.error.stage == "response_contract"
    for file in (tmp_path / "out").rglob("*.json"):
        text = file.read_text()
        assert KEY not in text
        assert base64.b64encode(KEY.encode()).decode()[:20] not in text


# The artifact


def test_the_artifact_has_every_documented_key_and_no_secret(server, tmp_path):
    compare(server, tmp_path)
    text = (tmp_path / "out" / FILE).read_text()
    written = json.loads(text)
    assert set(written) == words(
        "schema_version status escalation_required agreement_eligible deployment_status "
        "operational_rate_estimated baseline_path candidate_path output_path result_uri model "
        "task rubric normalized_baseline_sha256 normalized_candidate_sha256 "
        "unordered_pair_sha256 requests_counterbalanced first_order reversed_order "
        "mapped_preferences generated_at limitations limitation_ids"
    )
    assert written["schema_version"] == "npa_vlm_preference_comparison_v1"
    assert written["deployment_status"] == "audit_only"
    assert written["requests_counterbalanced"] is True
    assert len(written["limitations"]) == len(set(written["limitation_ids"])) == 6
    assert [LIMITATIONS[name] for name in written["limitation_ids"]] == written["limitations"]
    for name in ("first_order", "reversed_order"):
        outcome = written[name]
        assert set(outcome) == words(
            "order_id A_arm B_arm transport_request_sha256 transport_request request provider "
            "verdict error"
        )
        manifest = outcome["request"]["request_manifest"]
        assert manifest["schema_version"] == "npa_vlm_preference_request_evidence_v1"
        assert manifest["input_contract"] == {
            "kind": "independent-image-pair",
            "ordered_labels": ["A", "B"],
        }
        assert "sampling" not in manifest
        canonical = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        assert outcome["request"]["request_manifest_sha256"] == digest
        assert "base64" not in canonical
        assert str(tmp_path) not in canonical
    assert KEY not in text
    assert text == json.dumps(written, indent=2, sort_keys=True) + "\n"


def test_the_rubric_is_the_default_one_or_the_one_that_is_told(server, tmp_path):
    from framejudge.judge import default_rubric

    assert compare(server, tmp_path, rubric="  ").rubric == default_rubric()
    (tmp_path / "rubric.txt").write_text(" straighter is better\n")
    told = {"rubric_path": str(tmp_path / "rubric.txt"), "rubric": "not this"}
    one, two, _ = paths(tmp_path)
    report = fj.compare_preference(
        one, two, str(tmp_path / "other" / FILE), **given(server, **told)
    )
    assert report.rubric == "straighter is better"
    assert "straighter is better" in server.requests[-1]["messages"][0]["content"][0]["text"]


def test_every_file_is_its_owners_alone(server, tmp_path):
    old = os.umask(0)
    try:
        compare(server, tmp_path)
    finally:
        os.umask(old)
    assert journal(tmp_path) == sorted(STEPS)
    for path in (tmp_path / "out").rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert mode(tmp_path / "out") == 0o700


# What is refused before anything is sent


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": " "}, "task must not be empty"),
        ({"model": ""}, "model must not be empty"),
        ({"api_key_env": ""}, "api_key_env must not be empty"),
        ({"api_key_env": KEY}, "api_key_env must be the name of an environment variable"),
        ({"timeout_s": 0}, "timeout_s must be above 0, got 0"),
        ({"timeout_s": float("nan")}, "timeout_s must be above 0"),
        ({"timeout_s": float("inf")}, "timeout_s must be above 0"),
        ({"task": "beat the Baseline"}, "task must not contain 'baseline'"),
        ({"rubric": "CANDIDATES first"}, "rubric must not contain 'candidate'"),
        ({"model": "candidate-7b"}, "model must not contain 'candidate'"),
        ({"task": "beat the \uff42\uff41seline"}, "task must not contain 'baseline'"),
        ({"task": "beat the base\u200bline"}, "task must not contain 'baseline'"),
        ({"rubric_path": "/nowhere"}, "rubric_path: /nowhere can't be read"),
        ({"task": f"look for {KEY}"}, "task holds the API key"),
        ({"endpoint_url": "ftp://x"}, "http or https"),
        ({"endpoint_url": "http://127.0.0.1:9/v1?key=1"}, "neither a query nor a fragment"),
        ({"endpoint_url": "http://127.0.0.1:9/v1#x"}, "neither a query nor a fragment"),
        ({"endpoint_url": "http://a:b@127.0.0.1:9/v1"}, "must not hold credentials"),
    ],
)
def test_what_can_not_work_is_said_before_anything_is_sent(server, tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        compare(server, tmp_path, **change)
    assert KEY not in str(caught.value)
    assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_a_rubric_file_may_not_give_away_which_image_is_which(server, tmp_path):
    (tmp_path / "rubric.txt").write_text("The candidate is newer.")
    with pytest.raises(ConfigurationError, match="rubric must not contain 'candidate'"):
        compare(server, tmp_path, rubric_path=str(tmp_path / "rubric.txt"))


def test_two_paths_must_be_two_images_and_each_one_image(server, tmp_path):
    one, two, out = paths(tmp_path)
    (tmp_path / "link.png").symlink_to(one)
    several = tmp_path / "several"
    several.mkdir()
    for name in ("a.png", "b.png"):
        (several / name).write_bytes(picture(1))
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "a.png").write_bytes(picture(1))
    np.save(mixed / "b.npy", np.zeros((1, 8, 8, 3), np.uint8))
    (tmp_path / "none").mkdir()
    (tmp_path / "torn.png").write_bytes(b"torn")
    for second, error, message in (
        (one, ConfigurationError, "must be two images"),
        (str(tmp_path / "none" / ".." / "one.png"), ConfigurationError, "must be two images"),
        (str(tmp_path / "link.png"), ConfigurationError, "must be two images"),
        (" ", ConfigurationError, "candidate_path must not be empty"),
        (str(several), DataError, "candidate_path: .* exactly one image, and holds several"),
        (str(mixed), DataError, r"candidate_path: .* exactly one image: .*left out: b\.npy"),
        (str(tmp_path / "none"), DataError, "holds no frames"),
        (str(tmp_path / "gone.png"), DataError, "does not exist"),
        (str(tmp_path / "torn.png"), ImageError, r"torn\.png"),
    ):
        with pytest.raises(error, match=message):
            fj.compare_preference(one, second, out, **given(server))
    assert server.requests == []
    assert not (tmp_path / "out").exists()
    (several / "b.png").unlink()
    fj.compare_preference(one, str(several), out, **given(server))
    assert two not in (tmp_path / "out" / FILE).read_text()


@pytest.mark.parametrize("kind", ["report", "dangling link", "journal", "journal link", "part"])
def test_whatever_an_earlier_run_left_is_refused_before_anything_is_sent(server, tmp_path, kind):
    out = tmp_path / "out"
    out.mkdir()
    if kind == "report":
        (out / FILE).write_text("old")
    elif kind == "dangling link":
        (out / FILE).symlink_to(tmp_path / "nowhere")
    elif kind == "journal":
        (out / JOURNAL).mkdir()
    elif kind == "journal link":
        (out / JOURNAL).symlink_to(tmp_path / "nowhere")
    else:
        (out / f".{FILE}.0123.part").write_text("")
    before = sorted(out.iterdir())
    with pytest.raises(ConfigurationError, match=r"exists|choose another output_path"):
        compare(server, tmp_path)
    assert server.requests == []
    assert sorted(out.iterdir()) == before


def test_an_output_in_a_wrong_place_is_refused_before_anything_is_sent(server, tmp_path):
    one, two, _ = paths(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for out, message in (
        ("other.json", f"a .json file must be called {FILE}"),
        ("link", "link: is a link"),
        ("one.png/x", "no folder that can be written to"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            fj.compare_preference(one, two, str(tmp_path / out), **given(server))
    assert server.requests == []


# Addresses and keys


@pytest.mark.parametrize(
    ("change", "variables", "code"),
    [
        ({}, {"OPENAI_BASE_URL": "http://x/v1"}, "preference_explicit_endpoint_required"),
        ({}, {"FRAMEJUDGE_API_BASE_URL": "http://x"}, "preference_explicit_endpoint_required"),
        (
            {"endpoint_url": "http://127.0.0.1:9/v1", "api_key_env": "OWN"},
            {},
            "preference_named_credential_required",
        ),
        (
            {"endpoint_url": "http://127.0.0.1:9/v1"},
            {"VLM_EVAL_API_KEY": " ", "NEBIUS_TOKEN_FACTORY_KEY": "k"},
            "preference_named_credential_required",
        ),
        ({"api_key_env": "OPENAI_API_KEY"}, {}, "preference_named_credential_required"),
        ({}, {"VLM_EVAL_API_KEY": ""}, "preference_named_credential_required"),
        (
            {},
            {"VLM_EVAL_API_KEY": "", "STORE": "- [not yaml"},
            "preference_credential_configuration_invalid",
        ),
    ],
)
def test_an_address_or_key_that_may_not_be_used_has_a_code(
    tmp_path, monkeypatch, change, variables, code
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if "STORE" in variables:
        (tmp_path / ".npa").mkdir()
        (tmp_path / ".npa" / "credentials.yaml").write_text(variables["STORE"])
    with pytest.raises(AuditAccessError) as caught:
        fj.compare_preference(*paths(tmp_path), task="t", model="judge", **change)
    assert caught.value.reason_code == code
    assert "never-used" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_default_address_takes_its_own_keys_in_order(tmp_path, monkeypatch):
    from framejudge.judge.audit_access import resolve_audit_judge

    def key(name="VLM_EVAL_API_KEY"):
        return resolve_audit_judge(model="m", api_key_env=name, timeout_s=1).api_key

    (tmp_path / ".npa").mkdir()
    stored = "tokens: {NEBIUS_TOKEN_FACTORY_KEY: stored}"
    (tmp_path / ".npa" / "credentials.yaml").write_text(stored)
    assert key() == KEY
    assert key("NEBIUS_TOKEN_FACTORY_KEY") == "stored"
    monkeypatch.delenv("VLM_EVAL_API_KEY")
    assert key() == "stored"
    monkeypatch.setenv("NEBIUS_TOKEN_FACTORY_KEY", "second")
    assert key() == "second"


def test_a_given_address_gets_the_named_key_alone(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OWN_KEY", "own-key-0123456789")
    compare(server, tmp_path, api_key_env="OWN_KEY")
    assert {headers["authorization"] for headers in server.headers} == {"Bearer own-key-0123456789"}


# The command


def arguments(server, tmp_path, *more):
    one, two, out = paths(tmp_path)
    return [
        "compare-preference",
        *("--baseline-path", one, "--candidate-path", two, "--output-path", out),
        *("--endpoint-url", server.url, "--model", "judge", "--task", "hold the cube", *more),
    ]


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(("A", "B"), 0), (("A", "A"), 1), (("A", lambda _b: Response("no", 500)), 3)],
)
@pytest.mark.parametrize("output", ["text", "json"])
def test_the_command_says_how_it_ended_and_nothing_private(
    server, tmp_path, verdicts, code, output
):
    server.answer = prefers(*verdicts)
    done = command(*arguments(server, tmp_path, "--output", output))
    assert done.returncode == code, done.stderr
    written = artifact(tmp_path)
    for secret in ("SEEN", "DOUBT", str(tmp_path), "hold the cube", '"r1"', KEY, "one.png"):
        assert secret not in done.stdout
        assert secret not in done.stderr
    if output == "json":
        shown = json.loads(done.stdout)
        for key in ("status", "escalation_required", "agreement_eligible", "mapped_preferences"):
            assert shown[key] == written[key]
        assert shown["artifact_written"] is True
    else:
        assert written["status"] in done.stdout
        assert re.search(r"baseline +candidate +baseline +high", done.stdout)
    again = command(*arguments(server, tmp_path))
    assert again.returncode == 2
    assert "exists" in again.stderr
    assert len(server.requests) == 2


def test_the_command_prints_the_code_of_a_rule(server, tmp_path):
    more = ("--api-key-env", "OWN", "--output", "json")
    done = command(*arguments(server, tmp_path, *more))
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert set(told) == {"result", "reason_code", "message"}
    assert told["reason_code"] == "preference_named_credential_required"
    zero = command(*arguments(server, tmp_path, "--exit-zero"))
    assert zero.returncode == 0
