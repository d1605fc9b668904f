"""A plug-in of pytest that runs a sample of the cases of each test function: `-p sample --sample 40 --seed 1`."""

import collections
import random


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, default=None, help="the most cases of each test function; all by default")
    parser.addoption("--seed", type=int, default=1, help="what the sample depends on")


def pytest_collection_modifyitems(config, items):
    count = config.getoption("--sample")
    if count is None:
        return
    by_function = collections.defaultdict(list)
    for item in items:
        by_function[item.location[0], getattr(item, "originalname", item.name)].append(item)
    kept = set()
    for (_, name), cases in by_function.items():
        # Each function has its own numbers, so that its sample does not depend on which other functions run.
        chosen = random.Random(f"{config.getoption('--seed')} {name}")
        kept.update(chosen.sample(cases, min(count, len(cases))))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
