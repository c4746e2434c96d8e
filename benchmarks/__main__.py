"""Speed and memory, as ratios against a baseline in the same run.

    python -m benchmarks            every benchmark
    python -m benchmarks NAME ...   some of them

Each benchmark prints a number, its target, and whether it is reached. Benchmarks are not tests: machines differ.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path

import benchmarks


def main() -> None:
    names = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=", ".join(name.removeprefix("bench_") for name in names)
    )
    selected = parser.parse_args().names or [name.removeprefix("bench_") for name in names]
    for name in selected:
        if not (Path(__file__).parent / f"bench_{name}.py").exists():
            parser.error(f"unknown benchmark {name!r}; known: {', '.join(n.removeprefix('bench_') for n in names)}")
        print(f"\n== {name}")
        importlib.import_module(f"benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
