"""The cases: name, workload, parameters, tolerance, and what others published.

The first 28 are those of AMD's nightly benchmark of its emulator: the parameters are from rocjitsu-test-corpus (MIT),
`benchmarks/suites/nightly.toml`, and the kernels of `workloads` are other ones of the same shape (blocks, wavefronts, stages).
"""

from __future__ import annotations

import dataclasses
import typing

from workloads import attention, elementwise, gemm, ordering, quantized, reductions

# Where published figures were measured.
MACHINES = {
    "a": "rocjitsu, gfx950, 8 threads of a CI runner, median of one run, 2026-09-22",
    "b": "rocjitsu, gfx950, one thread of a Threadripper PRO 9995WX; 32 threads take 0.49",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    workload: typing.Callable
    parameters: dict
    # What a value may differ from the reference, as Result.defect says; 0 where all bits are known.
    tolerance: float
    # Seconds a launch, and the key in MACHINES.
    published: tuple | None = None
    # Whether `--quick` runs it.
    quick: bool = False


def _attention(sequence):
    return {"batch": 1, "heads": 64, "kv_heads": 8, "sequence": sequence, "window": 128, "width": 64, "dtype": "bf16"}


def _gemm(m, n, k, dtype, published=None, quick=False):
    # The result is rounded to the type: half a unit in its last place is at most 2 ** -8 or 2 ** -11 of it.
    tolerance = {"bf16": 4e-3, "f16": 6e-4}[dtype]
    seconds = None if published is None else (published, "a")
    return Case(f"GEMM {dtype} {m}x{n}x{k}", gemm.gemm, {"m": m, "n": n, "k": k, "dtype": dtype}, tolerance, seconds, quick)


AMD = [
    Case("copy f32", elementwise.copy, {"elements": 8_388_608, "dtype": "f32"}, 0, (0.387, "a")),
    Case("vector add f32", elementwise.vector_add, {"elements": 8_388_611, "dtype": "f32"}, 0, (7.16, "a")),
    Case("transpose f16", elementwise.transpose, {"rows": 2048, "columns": 2048, "dtype": "f16"}, 0, (0.407, "a")),
    Case(
        "gather f32",
        elementwise.gather,
        {"source": 8_388_608, "elements": 4_194_307, "first": 17, "step": 104_729, "dtype": "f32"},
        0,
        (4.36, "a"),
    ),
    Case("atomic add f32", elementwise.atomic_add, {"elements": 131_072, "buckets": 256, "dtype": "f32"}, 0, (7.08, "a"), True),
    Case("softmax f16 64x4096", reductions.softmax, {"rows": 64, "columns": 4096, "dtype": "f16"}, 1e-3, (0.0130, "a"), True),
    Case("softmax f16 64x4097", reductions.softmax, {"rows": 64, "columns": 4097, "dtype": "f16"}, 1e-3),
    Case("softmax f32 64x4096", reductions.softmax, {"rows": 64, "columns": 4096, "dtype": "f32"}, 2e-6),
    Case(
        "RMS norm bf16 128x4096",
        reductions.rms_norm,
        {"rows": 128, "columns": 4096, "epsilon": 1e-5, "dtype": "bf16"},
        4e-3,
        (0.0145, "a"),
        True,
    ),
    Case("RMS norm f16 128x4096", reductions.rms_norm, {"rows": 128, "columns": 4096, "epsilon": 1e-5, "dtype": "f16"}, 6e-4),
    _gemm(256, 256, 512, "bf16", 0.0186, True),
    _gemm(250, 250, 510, "bf16"),
    _gemm(128, 128, 128, "bf16", 0.0040),
    _gemm(512, 512, 512, "bf16", 0.050),
    _gemm(1024, 1024, 1024, "bf16", 0.356),
    _gemm(1024, 128, 512, "bf16"),
    _gemm(128, 1024, 512, "bf16"),
    _gemm(128, 128, 2048, "bf16"),
    _gemm(256, 256, 512, "f16"),
    _gemm(250, 250, 510, "f16", None, True),
    _gemm(128, 128, 128, "f16"),
    _gemm(512, 512, 512, "f16"),
    _gemm(1024, 1024, 1024, "f16", 0.370),
    _gemm(1024, 128, 512, "f16"),
    _gemm(128, 1024, 512, "f16"),
    _gemm(128, 128, 2048, "f16"),
    Case("attention bf16, window 128, sinks, 128", attention.window, _attention(128), 4.2e-3, (0.128, "a"), True),
    Case("attention bf16, window 128, sinks, 256", attention.window, _attention(256), 4.2e-3, (0.309, "a")),
]

OTHERS = [
    Case("top-k, 4 of 128, 1024 tokens", ordering.top_k, {"rows": 1024, "columns": 128, "k": 4}, 2e-6, None, True),
    Case("scan f32 64x8192", ordering.scan, {"rows": 64, "columns": 8192, "dtype": "f32"}, 1e-5),
    Case("linear recurrence f32 64x4096", ordering.recurrence, {"rows": 64, "columns": 4096, "dtype": "f32"}, 2e-6),
    Case("sort f32 64x2048", ordering.sort, {"rows": 64, "columns": 2048, "dtype": "f32"}, 0),
    Case(
        "layer norm backward f16 512x1024, two kernels",
        reductions.layer_norm_backward,
        {"rows": 512, "columns": 1024, "programs": 32, "dtype": "f16"},
        1e-3,
        None,
        True,
    ),
    Case("dropout f32", elementwise.dropout, {"elements": 1_048_576, "p": 0.25, "dtype": "f32"}, 1e-6),
    Case("GEMM i8, scaled, 512x512x512", quantized.i8, {"m": 512, "n": 512, "k": 512}, 6e-4, None, True),
    Case("GEMM f8 512x512x512", quantized.f8, {"m": 512, "n": 512, "k": 512}, 6e-4, None, True),
    Case("GEMM f8 1024x1024x1024", quantized.f8, {"m": 1024, "n": 1024, "k": 1024}, 6e-4, (4.21, "b")),
    Case("GEMM mxfp4 512x512x512", quantized.mxfp4, {"m": 512, "n": 512, "k": 512}, 2e-6, None, True),
    Case(
        "grouped GEMM bf16, 512 tokens, 8 experts, 512x512",
        gemm.grouped,
        {"tokens": 512, "experts": 8, "n": 512, "k": 512, "dtype": "bf16"},
        4e-3,
    ),
    Case(
        "split-k GEMM f16 128x128x8192, 8 parts",
        gemm.split_k,
        {"m": 128, "n": 128, "k": 8192, "split": 8, "dtype": "f16"},
        1e-5,
    ),
    Case("cross-entropy bf16 128x32768", reductions.cross_entropy, {"rows": 128, "columns": 32_768, "dtype": "bf16"}, 6e-3),
    Case(
        "paged attention f16, 8 sequences, 32 heads",
        attention.paged,
        {"sequences": 8, "heads": 32, "kv_heads": 4, "longest": 1024, "width": 128, "page": 16, "dtype": "f16"},
        6e-4,
        None,
        True,
    ),
]

CASES = AMD + OTHERS
