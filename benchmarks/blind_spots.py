"""What cosine similarity can't see: how many wrong texts pass 0.75, how many right ones do not.

No peers: the numbers are properties of the score, not of the program. The demo's sessions come with
the package; the other sets are read from FRAMEJUDGE_TEST_DATA where that folder has them.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from importlib import resources
from pathlib import Path

import numpy as np

import framejudge as fj

THRESHOLD = 0.75
ROWS = 250

Pairs = dict[str, list[tuple[str, str]]]


def demo_pairs() -> Pairs:
    pairs: Pairs = defaultdict(list)
    text = (resources.files("framejudge.data") / "demo_sessions.json").read_text()
    for session in json.loads(text):
        for frame in session["conversation"]:
            truth = frame["ground_truth_assistant"]
            if isinstance(truth, str):
                pairs[f"demo: {frame['kind']}"].append((frame["assistant"], truth))
    return pairs


def labelled_pairs(folder: Path) -> Pairs:
    def rows(name):
        path = folder / f"{name}.jsonl"
        return map(json.loads, path.read_text().splitlines()) if path.is_file() else iter(())

    pairs: Pairs = defaultdict(list)
    for row in rows("breaking_nli"):
        if row["nli"] == "CONTRADICTION" and row["cat"] in ("colors", "cardinals"):
            pairs[f"Breaking-NLI: wrong {row['cat']}"].append((row["a"], row["b"]))
    for row in rows("becel_snli_negation"):
        pairs[f"BECEL: {row['tag']} of a true sentence"].append((row["good"], row["bad"]))
    for row in rows("sugarcrepe"):
        if row["cat"] in ("swap_att", "swap_obj"):
            pairs[f"SugarCrepe: {row['cat']}"].append((row["good"], row["bad"]))
    seen = set()
    for row in rows("flickr8k_expert"):
        if row["image"] not in seen:
            seen.add(row["image"])
            pairs["Flickr8k: two people, one photo (both right)"].append(tuple(row["refs"][:2]))
    for row in rows("anet_two_humans"):
        pairs["ActivityNet: two people, one video (both right)"].append((row["a"], row["b"]))
    return pairs


def main() -> None:
    folder = Path(os.environ.get("FRAMEJUDGE_TEST_DATA", "tests/data"))
    sets = {**demo_pairs(), **labelled_pairs(folder)}
    print(f"{'pairs':>5}  {'>= 0.75':>7}  {'median':>6}  set")
    for name, pairs in sets.items():
        # Evenly spread rows, as these files are sorted by picture or category.
        picked = list(itertools.islice(pairs, 0, None, max(1, len(pairs) // ROWS)))[:ROWS]
        scores = fj.similarity([a for a, _ in picked], [b for _, b in picked])
        share = float(np.mean(scores >= THRESHOLD))
        print(f"{len(picked):>5}  {share:>7.0%}  {np.median(scores):>6.2f}  {name}")


if __name__ == "__main__":
    main()
