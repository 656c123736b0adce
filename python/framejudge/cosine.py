"""Cosine similarity of embeddings, by the C++ core.

Embeddings are numpy arrays of float32, float16, or uint16 holding bfloat16; results are float32.

A row that is all zeros, or holds a NaN or an infinity, has no direction: its cosines are NaN, never
a number. Rows of any finite magnitude give the right answer. Results are clipped to [-1, 1].

The same input gives the same bits whatever the number of threads, within one instruction tier
(`framejudge.build_info()["isa"]`, forced by `FRAMEJUDGE_ISA`) and one function: `paired` and
`matrix` add in different orders, and `matrix` and `top_k` do so below four rows. A float32 sum over
d elements is off by at most (2 d + 8) 2**-24 in the worst case, so two tiers differ by at most
twice that; for random 768-d embeddings both stay below 5e-7. With `accumulate="float64"` only the
rounding of the result to float32 is left, 6e-8.

The functions take the thread pool of the core (`FRAMEJUDGE_THREADS`, else CPU affinity and cgroup
quota). A caller that finds it busy works on its own thread.
"""

from __future__ import annotations

from framejudge._core import matrix, paired, top_k

__all__ = ["matrix", "paired", "top_k"]
