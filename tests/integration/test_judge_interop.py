"""The judge's protocol against an implementation that is not ours: `transformers serve`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import framejudge as fj
from framejudge.errors import JudgeReplyError, JudgeTransportError
from rollout_files import make_rollout

pytestmark = pytest.mark.interop

IMAGE, END = "<image>", "</s>"
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endfor %}"
)


def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<pad>", "<s>", END, IMAGE], initial_alphabet=alphabet
    )
    made.train_from_iterator(["task and frames"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token=END,
        extra_special_tokens={"image_token": IMAGE},
    )


def image_processor():
    import transformers

    # Later versions have one that needs torchvision, and call this one otherwise.
    kind = getattr(transformers, "CLIPImageProcessorPil", transformers.CLIPImageProcessor)
    side = {"height": 28, "width": 28}
    return kind(size=side, crop_size=side)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A vision model of random weights, small enough to answer at once."""
    for name in ("torch", "transformers", "fastapi"):
        pytest.importorskip(name, reason="needs the extra [interop]")
    import torch
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    folder = tmp_path_factory.mktemp("model")
    words = tokenizer()
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            **sizes, num_attention_heads=2, image_size=28, patch_size=14, projection_dim=32
        ),
        text_config=LlamaConfig(
            **sizes,
            vocab_size=len(words),
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=4096,
        ),
        image_token_index=words.convert_tokens_to_ids(IMAGE),
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    made = LlavaForConditionalGeneration(config)
    made.generation_config.eos_token_id = words.convert_tokens_to_ids(END)
    made.save_pretrained(folder)
    LlavaProcessor(
        image_processor=image_processor(),
        tokenizer=words,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    return folder


def served(folder, log):
    """Start the server on a free port and wait until it lists its model."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()"]
    process = subprocess.Popen(
        [
            *command,
            "serve",
            str(folder),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--device",
            "cpu",
        ],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        stdout=log,
        stderr=log,
    )
    url = f"http://127.0.0.1:{port}/v1"
    for _ in range(600):
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(f"{url}/models", timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
        else:
            return process, url
    process.kill()
    pytest.fail("the server did not start in two minutes")


@pytest.fixture
def judge(model, tmp_path):
    started = []

    def start():
        log = (tmp_path / "serve.log").open("wb")
        process, url = served(model, log)
        started.append((process, log))
        return url

    yield start
    for process, log in started:
        process.terminate()
        process.wait(timeout=30)
        log.close()


def ask(url, model, tmp_path):
    return fj.run(
        str(make_rollout(tmp_path / "in")),
        str(tmp_path / "out"),
        endpoint_url=url,
        model=str(model),
        task="place the cube",
        cache=False,
    )


def test_an_answer_that_never_ends_is_refused_as_cut_off(model, judge, tmp_path):
    url = judge()
    with pytest.raises(JudgeReplyError, match="finish_reason must be 'stop', got 'length'"):
        ask(url, model, tmp_path)
    assert not (tmp_path / "out").exists()


def test_an_answer_that_ends_is_read_and_is_no_verdict(model, judge, tmp_path):
    file = model / "generation_config.json"
    before = file.read_text()
    config = json.loads(before)
    # Whatever it says second or later ends it.
    config["eos_token_id"] = list(range(4, len(tokenizer())))
    config["min_new_tokens"] = 3
    file.write_text(json.dumps(config))
    try:
        with pytest.raises(JudgeReplyError) as caught:
            ask(judge(), model, tmp_path)
    finally:
        file.write_text(before)
    assert "holds no JSON object" in str(caught.value)


def test_a_model_that_is_not_served_is_the_servers_error(model, judge, tmp_path):
    url = judge()
    with pytest.raises(JudgeTransportError, match="HTTP 4"):
        ask(url, "no/such-model", tmp_path)
