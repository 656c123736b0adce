"""The judge's loop against a sequential client, and its CPU time against the same steps in Pillow.

Needs `pip install pillow starlette uvicorn`. A local server answers each request after 200 ms; the
sequential client makes one connection a call, as plain scripts do. Both send the same number of
frames of the same size, and the server's answers are counted.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from PIL import Image

import framejudge as fj
from benchmarks.frames_common import photo
from framejudge import frames
from framejudge.frames.rollout import collect_frames

LATENCY_S = 0.2
FRAMES = 4


def serve(listener: socket.socket) -> None:
    import asyncio

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request: Request) -> JSONResponse:
        await request.body()
        await asyncio.sleep(LATENCY_S)
        content = json.dumps({"success": True, "score": 0.9, "rationale": "Frame 1"})
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        return JSONResponse({"id": "1", "model": "judge", "choices": [choice]})

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


def with_pillow(rollout: Path) -> list[dict[str, object]]:
    """Discover, decode, scale to 768, PNG, hash, base64: what a plain script does."""
    content: list[dict[str, object]] = []
    for path in sorted(rollout.glob("*.jpg"))[:FRAMES]:
        image = Image.open(path).convert("RGB")
        image.thumbnail((768, 768))
        buffer = io.BytesIO()
        image.save(buffer, "PNG", optimize=True)
        hashlib.sha256(buffer.getvalue()).hexdigest()
        data = base64.b64encode(buffer.getvalue()).decode()
        content.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})
    return content


def with_framejudge(rollout: Path) -> list[str]:
    found = collect_frames(rollout, frame_selection="sequence", max_frames=FRAMES)
    return [base64.b64encode(frame.data).decode() for frame in found.frames]


def sequential(rollouts: list[Path], url: str) -> int:
    answered = 0
    for rollout in rollouts:
        body = json.dumps({"model": "judge", "messages": [{"content": with_pillow(rollout)}]})
        request = urllib.request.Request(
            f"{url}/chat/completions", body.encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            answered += json.load(response)["choices"][0]["finish_reason"] == "stop"
    return answered


def cpu_s(call: object, rollouts: list[Path]) -> float:
    start = time.process_time()
    for rollout in rollouts:
        call(rollout)  # type: ignore[operator]
    return (time.process_time() - start) / len(rollouts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rollouts", type=int, default=64)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        pictures = [frames.encode_jpeg(photo(480, 640, k), quality=85) for k in range(FRAMES)]
        for number in range(options.rollouts):
            rollout = root / "in" / f"r{number:03d}"
            rollout.mkdir(parents=True)
            for k, picture in enumerate(pictures):
                (rollout / f"f{k}.jpg").write_bytes(picture)
        rollouts = sorted((root / "in").iterdir())
        listener = socket.create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server = multiprocessing.Process(target=serve, args=(listener,), daemon=True)
        server.start()
        ours, theirs, our_cpu, their_cpu = [], [], [], []
        for round_ in range(options.rounds):
            start = time.perf_counter()
            report = fj.loop(
                str(root / "in"),
                str(root / f"out{round_}"),
                endpoint_url=url,
                model="judge",
                task="place the cube",
                frame_selection="sequence",
                cache=False,
                concurrency=options.concurrency,
            )
            ours.append(time.perf_counter() - start)
            assert report.n_scored == options.rollouts
            start = time.perf_counter()
            assert sequential(rollouts, url) == options.rollouts
            theirs.append(time.perf_counter() - start)
            our_cpu.append(cpu_s(with_framejudge, rollouts))
            their_cpu.append(cpu_s(with_pillow, rollouts))
        server.terminate()
    wall, other = statistics.median(ours), statistics.median(theirs)
    print(f"{options.rollouts} rollouts of {FRAMES} frames, {LATENCY_S * 1000:.0f} ms a call")
    print(f"  framejudge loop -j {options.concurrency}: {wall:.2f} s")
    print(f"  one after the other:   {other:.2f} s  {other / wall:.1f} x")
    mine, pillow = statistics.median(our_cpu), statistics.median(their_cpu)
    print(
        f"CPU a rollout: {mine * 1000:.1f} ms; Pillow {pillow * 1000:.1f} ms, {pillow / mine:.1f} x"
    )
    size = np.asarray(Image.open(io.BytesIO(pictures[0]))).shape
    print(f"frames are {size[1]} x {size[0]} JPEG")


if __name__ == "__main__":
    main()
