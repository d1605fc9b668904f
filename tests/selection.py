"""A plug-in of pytest for tests that others wrote: it takes a sample of them, and knows which are expected to fail.

`--sample 40 --seed 1` runs at most 40 cases of each test function. `--list FILE` names a table of cases: file, case, versions, targets,
`fail` or `skip`, cause. A case that it has for `--tested VERSION TARGET` is skipped if it is too large, and is expected to fail otherwise:
then it is named if it passes.
"""

import collections
import fnmatch
import pathlib
import random

import pytest


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, default=None, help="the most cases of each test function; all by default")
    parser.addoption("--seed", type=int, default=1, help="what the sample depends on")
    parser.addoption("--list", type=pathlib.Path, required=True, help="the table of cases that fail or are skipped")
    parser.addoption("--tested", nargs=2, required=True, metavar=("VERSION", "TARGET"), help="what is tested, and on what")


def _listed(path):
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _sampled(items, count, seed):
    by_function = collections.defaultdict(list)
    for item in items:
        by_function[item.location[0], getattr(item, "originalname", item.name)].append(item)
    kept = set()
    for (_, name), cases in by_function.items():
        # Each function has its own numbers, so that its sample does not depend on which other functions run.
        kept.update(random.Random(f"{seed} {name}").sample(cases, min(count, len(cases))))
    return kept


def pytest_collection_modifyitems(config, items):
    version, target = config.getoption("--tested")
    count = config.getoption("--sample")
    if count is not None:
        kept = _sampled(items, count, config.getoption("--seed"))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    listed = _listed(config.getoption("--list"))
    for item in items:
        for file, pattern, versions, targets, result, cause in listed:
            # Brackets are part of a case's name, not of the pattern.
            matches = fnmatch.fnmatchcase(item.name, pattern.replace("[", "[[]"))
            here = version in versions.split() and target in targets.split()
            if matches and here and item.path.match(file):
                item.add_marker(pytest.mark.skip(reason=cause) if result == "skip" else pytest.mark.xfail(reason=cause))
                break
