"""Build hook: both archives state the commit, and the sdist has the links that Hatch leaves out."""

import gzip
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT = "commit.txt"
LINKED = ("src/dpassay", "experiments/demos")
"""Folders with links to folders."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `commit.txt` to sdist and wheel, and to the sdist the links to folders."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the commit: of the checkout, or, in an sdist, of the checkout that it was built from."""
        path = Path(self.root) / COMMIT
        if not path.exists() and version != "editable" and (commit := _commit(self.root)):
            path = Path(tempfile.mkdtemp()) / COMMIT
            path.write_text(f"{commit}\n", encoding="utf-8")
        if version == "editable" or not path.exists():
            return
        build_data["force_include"][str(path)] = COMMIT if self.target_name == "sdist" else f"dpassay/{COMMIT}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Add the links to folders, which Hatch leaves out, so that the unpacked sdist works like a checkout."""
        if self.target_name != "sdist":
            return
        artifact = Path(artifact_path)
        content = io.BytesIO(gzip.decompress(artifact.read_bytes()))
        with tarfile.open(fileobj=content, mode="a") as archive:
            top, root = artifact.name.removesuffix(".tar.gz"), Path(self.root)
            like = archive.getmember(f"{top}/src/dpassay/__init__.py")
            for link in sorted(path for folder in LINKED for path in (root / folder).iterdir()):
                if link.is_symlink() and link.is_dir():
                    member = tarfile.TarInfo(f"{top}/{link.relative_to(root).as_posix()}")
                    member.type, member.linkname = tarfile.SYMTYPE, link.readlink().as_posix()
                    member.mtime, member.mode = like.mtime, like.mode
                    archive.addfile(member)
        artifact.write_bytes(gzip.compress(content.getvalue(), mtime=int(like.mtime)))


def _commit(root: str) -> str:
    """Return the commit of the checkout, with "+changes" if tracked files differ from it; empty without one."""
    if not (Path(root) / ".git").exists():  # a folder in the repository of another project
        return ""
    try:
        head, changes = (
            subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{head}+changes" if changes else head
