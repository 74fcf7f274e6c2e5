"""Run every benchmark, or the one that is named with the arguments it takes.

    python -m benchmarks                          # graph_store, import_time, score, linking, ceaf, build
    python -m benchmarks --labels LABELS.jsonl    # ... and categories, on hand-labelled words
    python -m benchmarks build --workers 1
    python -m benchmarks stores                   # graph servers; needs the extra `dev`, takes ten minutes
    python -m benchmarks board                    # the site of a board; needs the extra `dev`, takes two minutes
    python -m benchmarks systems                  # all systems: index, memory, time; takes five minutes
    python -m benchmarks scorer FOLDER            # a trained node scorer; needs the extra `neural`

Each runs in a process of its own, so that none is measured with another's memory or caches.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

EVERY = ("graph_store", "import_time", "score", "linking", "ceaf", "build", "categories")
NAMED = ("board", "scorer", "stores", "systems")  # only if they are asked for


def main() -> int:
    """Run from the command line; the exit code is that of the first benchmark that fails."""
    if sys.argv[1:2] and sys.argv[1] in (*EVERY, *NAMED):
        return run(*sys.argv[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=(*EVERY, *NAMED), help="only this one")
    parser.add_argument("--labels", help="hand-labelled words for the benchmark `categories`")
    labels = parser.parse_args().labels
    for name in EVERY:
        arguments = [labels] if name == "categories" else []
        if None in arguments:
            continue
        print(f"\n{name}", flush=True)
        if code := run(name, *arguments):
            return code
    return 0


def run(name: str, *arguments: str) -> int:
    """Exit code of one benchmark."""
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
