"""Makes the reference embeddings with sentence-transformers; not needed to use framejudge.

    framejudge models fetch
    pip install sentence-transformers        # in an environment of its own
    python models/make_reference.py "$(framejudge models path)"

Writes reference_embeddings.npz (float32, one row per sentence of reference_sentences.json) and
prints the versions that made it. With a second argument, a file's name, every fourth sentence is
embedded into that file instead: so minilm_embeddings.npz was made, from all-MiniLM-L6-v2.
"""

# ruff: noqa: RUF001  (odd characters are the point)
from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer

HERE = Path(__file__).parent

PLACES = ("the entrance", "the loading bay", "aisle four", "the car park", "platform two")
ACTORS = ("A man in a grey coat", "Two children", "A forklift", "A security guard", "Nobody")
EVENTS = (
    "falls near {}",
    "walks past {} carrying a red suitcase",
    "is waiting quietly at {} while it rains outside",
    "leaves {} without closing the door behind, and an alarm light starts blinking on the wall",
)

EDGE_CASES = [
    "",
    " ",
    "person",
    "person ",
    "PERSON",
    "a",
    "42",
    "!?",
    "fire " * 500,
    "The camera shows an empty corridor. " * 60,
    " ".join(f"frame {n} shows box {n}" for n in range(120)),
    "Ein Mann stürzt vor dem Eingang und bleibt liegen.",
    "Une femme âgée traverse la chaussée près de l'école.",
    "Мужчина упал у входа.",
    "入口付近で男性が倒れています。",
    "مدخل المبنى خالٍ تماما.",
    "🔥🔥 smoke 😀 near the exit 🚪",
    "e\u0301clair and \u00e9clair",
    "zero\u200bwidth and soft\u00adhyphen",
    "tabs\tand\nnewlines\r\nare  spaces",
    "nul\x00byte",
    "<s> special </s> tokens <pad> written <mask> out [UNK] <unk>",
    "<pad>",
    "word<pad>word <pad> <pad> end",
    "http://camera.example/stream?id=7&t=00:01:02.345",
    "x" * 150,
    "x" * 90 + " " + "y" * 101,
    "No person is visible. No person is visible. No person is visible.",
    "The door is not open.",
    "The door is open.",
    "three people, two cars; one bicycle -- zero dogs",
    "temperature 21.5°C, humidity 40 %, 3 × 4 grid",
    "“quoted” ‘single’ — dash – en dash … ellipsis",
    "ﬁre near ﬂoor ½ way",
    "ＦＵＬＬ ＷＩＤＴＨ ｔｅｘｔ",
    "null",
    "None",
    "NaN",
    "the " * 381 + "end",
    "the " * 382 + "end",
    "the " * 383 + "end",
    "a-b-c-d-e-f-g_h_i_j/k/l",
]

WORDS = (
    "a camera sees one person walking slowly along the wet pavement toward the bus stop where "
    "several people wait under umbrellas while a white delivery van reverses into a narrow space "
    "and its driver looks over his shoulder at a cyclist who has stopped to let it pass"
)


def sentences() -> list[str]:
    """Return the 200 sentences: scenes, edge cases, and one of each length in words."""
    scenes = [f"{a} {e.format(p)}." for a in ACTORS for e in EVENTS for p in PLACES]
    lengths = [" ".join((WORDS.split() * 7)[:n]) for n in range(2, 300, 5)]
    result = [*scenes, *EDGE_CASES, *lengths]
    return result[:200]


def main() -> None:
    """Embed the sentences and write the files."""
    texts, target = sentences(), HERE / "reference_embeddings.npz"
    if len(sys.argv) > 2:  # noqa: PLR2004
        texts, target = texts[::4], HERE / sys.argv[2]
    torch.set_num_threads(2)
    model = SentenceTransformer(sys.argv[1], device="cpu")
    embeddings = model.encode(texts, convert_to_numpy=True).astype(np.float32)
    if len(sys.argv) == 2:  # noqa: PLR2004
        sentences_json = json.dumps(texts, indent=0)
        (HERE / "reference_sentences.json").write_text(sentences_json, encoding="utf-8")
    np.savez_compressed(target, embeddings=embeddings)
    print(f"{len(texts)} sentences, {embeddings.shape}, {embeddings.dtype}")
    for module in (sentence_transformers, transformers, torch, np):
        print(module.__name__, module.__version__)


if __name__ == "__main__":
    main()
