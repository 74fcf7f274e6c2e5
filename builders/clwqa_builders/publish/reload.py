"""What arrived: the published files, downloaded by commit hash, against what was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import ValidationFailed
from clwqa_bench.hub import quiet
from clwqa_builders.publish.hub import Hub
from clwqa_builders.publish.parcel import Parcel
from clwqa_builders.publish.rows import content

if TYPE_CHECKING:
    import pyarrow as pa


def compare(parcel: Parcel, hub: Hub, commit: str, fetched: Callable[[int], None]) -> dict[str, str]:
    """Download a commit, read it as a user would, and return the digests of its content, which are the parcel's.

    No cache is believed.  `fetched` is told the size of every file.  Raises ValidationFailed if a byte or a row is
    not what was sent, HubError if the Hub cannot be reached.
    """
    with TemporaryDirectory(prefix="clwqa-publish-") as folder:
        cache, root = Path(folder, "hub"), None
        for name, path in parcel.files.items():
            found = hub.fetch(name, commit, cache)
            root = found.parents[name.count("/")]
            if file_sha256(found) != parcel.sha256(name):
                raise _differs(hub, commit, f"{name} is not the file that was sent")
            fetched(path.stat().st_size)
        assert root is not None, "a parcel has files"
        try:
            loaded = content(read_configurations(root, Path(folder, "datasets")))
        except Exception as error:  # `datasets` raises whatever its readers do
            raise _differs(hub, commit, f"`datasets` cannot read it: {error}") from error
    for name, digest in loaded.items():
        if digest != parcel.content[name]:
            raise _differs(
                hub, commit, f"the content of {name} has digest {digest}, not {parcel.content[name]}"
            )
    return loaded


def read_configurations(root: Path, cache: Path) -> Mapping[str, list[pa.Table]]:
    """The tables of all splits of all configurations of a card, as `datasets` reads them."""
    import datasets

    with quiet(datasets.utils):
        return {
            config: [
                split.data.table
                for split in datasets.load_dataset(str(root), config, cache_dir=str(cache)).values()
            ]
            for config in datasets.get_dataset_config_names(str(root))
        }


def _differs(hub: Hub, commit: str, what: str) -> ValidationFailed:
    return ValidationFailed(
        f"what the Hub serves at {commit} differs: {what}",
        fix="run the same command again, it sends nothing twice; if it stays so, publish to another repository",
        file=hub.page,
    )
