"""Somebody who reads what was published as its card says: `python reader.py REPO COMMIT FOLDER` prints the digests.

Run in a process of its own, because these libraries read HF_ENDPOINT when they are imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from clwqa_bench.dataset import Dataset
from clwqa_builders.publish.rows import FILES, content

REPOSITORY = Path(__file__).resolve().parents[3]


def main(repo: str, commit: str, folder: str) -> None:
    import datasets
    from huggingface_hub import snapshot_download

    Dataset.open(snapshot_download(repo, repo_type="dataset", revision=commit))  # every file is verified
    tables = {}
    for config in FILES:
        loaded = datasets.load_dataset(repo, config, revision=commit, cache_dir=folder)
        tables[config] = [split.data.table for split in loaded.values()]
    print(json.dumps(content(tables)))


def loaded_content(endpoint: str, token: str, repo: str, commit: str, folder: Path) -> dict[str, str]:
    """What `load_dataset` gets from a Hub, all configurations, by commit hash."""
    search = [str(REPOSITORY), str(REPOSITORY / "builders"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(search),
        "HF_ENDPOINT": endpoint,
        "HF_TOKEN": token,
        "HF_HOME": str(folder / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    command = [sys.executable, __file__, repo, commit, str(folder / "loaded")]
    printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(printed.splitlines()[-1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
