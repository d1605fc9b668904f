"""Benchmarks on the emulator. They measure the host's time: how long the emulation takes, not what a GPU would need."""

import math
import statistics
import time

_SUMMARIES = {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}


def _quantile(sorted_times, quantile):
    position = quantile * (len(sorted_times) - 1)
    low = int(position)
    high = min(low + 1, len(sorted_times) - 1)
    return sorted_times[low] + (sorted_times[high] - sorted_times[low]) * (position - low)


def do_bench(fn, warmup=0, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Measures calls of `fn` for about `rep` milliseconds of the host's time; at least one, after one that is not measured.

    The arguments and the result, in milliseconds, are those of `triton.testing.do_bench`. `warmup` has no effect: the call
    that is not measured compiles and loads the kernel, and emulation has nothing else to warm up.
    """
    if return_mode != "all" and return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode is {return_mode!r}; it must be one of {['all', *_SUMMARIES]}")
    fn()
    times = []
    stop = time.perf_counter() + rep / 1e3
    while not times or time.perf_counter() < stop:
        for tensor in grad_to_none or ():
            tensor.grad = None
        begin = time.perf_counter()
        fn()
        times.append((time.perf_counter() - begin) * 1e3)
    times.sort()
    if quantiles is not None:
        results = [_quantile(times, quantile) for quantile in quantiles]
        return results[0] if len(results) == 1 else results
    return times if return_mode == "all" else _SUMMARIES[return_mode](times)


def take_first(replacements):
    """Makes Triton's autotuner take the first configuration that can run, and measure no other."""
    from triton.runtime.autotuner import Autotuner

    prune, bench = Autotuner.prune_configs, Autotuner._bench

    def prune_and_begin(self, *args, **kwargs):
        self._hiplaunch_first = None
        return prune(self, *args, **kwargs)

    def bench_until_one_runs(self, *args, config, **meta):
        if self._hiplaunch_first is not None:
            # The autotuner keeps one time for all configurations that are equal.
            first, times = self._hiplaunch_first
            return times if config == first else [math.inf] * 3
        # One that needs more than the device has takes forever, says the autotuner.
        times = bench(self, *args, config=config, **meta)
        if math.isfinite(times[0] if isinstance(times, (list, tuple)) else times):
            self._hiplaunch_first = config, times
        return times

    replacements.set(Autotuner, "prune_configs", prune_and_begin)
    replacements.set(Autotuner, "_bench", bench_until_one_runs)
