"""checkers/latency.py: how long operations took, in a histogram of fixed logarithmic buckets.

In     durations in ns
Out    `Latencies`: counts by bucket, from which any quantile follows to within an eighth; two of them add up to one
Keeps  the buckets are the same everywhere and for ever: eight to each power of two. So histograms of any runs can be merged, and
       none grows with what it was made of
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from checkers.found import Numbers

STEPS: Final = 8
"""Buckets to each power of two."""
BITS: Final = 3
BUCKETS: Final = STEPS * (63 - BITS + 1)


class Latencies(msgspec.Struct, frozen=True):
    """How many durations fell into each bucket; buckets without any are left out."""

    counts: dict[int, int] = {}

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def merge(self, other: Latencies) -> Latencies:
        buckets = sorted({*self.counts, *other.counts})
        return Latencies({bucket: self.counts.get(bucket, 0) + other.counts.get(bucket, 0) for bucket in buckets})

    def quantile_ns(self, share: float) -> int | None:
        """At least so large a share of all took no longer than this; None: there are none."""
        wanted, so_far = share * self.count, 0
        for bucket in sorted(self.counts):
            so_far += self.counts[bucket]
            if so_far >= wanted:
                return upper_edge_ns(bucket)
        return None


def latencies(took_ns: Numbers) -> Latencies:
    counts = np.bincount(bucket_of(took_ns), minlength=BUCKETS)
    buckets = np.flatnonzero(counts)
    return Latencies(dict(zip(buckets.tolist(), counts[buckets].tolist(), strict=True)))


def bucket_of(took_ns: Numbers) -> Numbers:
    """Below 8 ns each duration is a bucket of its own; from then on the four highest bits name it."""
    took = np.maximum(took_ns, 0).astype(np.int64)
    shift = np.zeros(len(took), np.int64)
    for bits in (32, 16, 8, 4, 2, 1):  # the number of bits by halving: exact, where a logarithm is not
        shift += np.where((took >> shift) >> bits, bits, 0)
    shift = np.maximum(shift - BITS, 0)
    buckets: Numbers = STEPS * shift + (took >> shift)
    return buckets


def upper_edge_ns(bucket: int) -> int:
    """The longest duration that falls into a bucket."""
    shift = max(0, bucket // STEPS - 1)
    return ((bucket - STEPS * shift + 1) << shift) - 1
