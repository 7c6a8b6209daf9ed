"""Commits of folders, compared with git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from urdf_usd.corpus.descriptions import MANIFEST, head_commit, mirrored_commit

COMMIT = "0123456789abcdef" * 2 + "01234567"


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ("git", *identity, *arguments)
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "commit", "--quiet", "--allow-empty", "--message=a")
    return folder


def test_commit_of_a_branch_is_found(checkout: Path) -> None:
    commit = _git(checkout, "rev-parse", "HEAD")

    assert head_commit(checkout) == commit
    _git(checkout, "pack-refs", "--all")
    assert head_commit(checkout) == commit


def test_commit_of_a_detached_head_is_found(checkout: Path) -> None:
    _git(checkout, "checkout", "--quiet", "--detach")

    assert head_commit(checkout) == _git(checkout, "rev-parse", "HEAD")


def test_commit_of_a_worktree_is_found(checkout: Path) -> None:
    tree = checkout.parent / "tree"
    _git(checkout, "worktree", "add", "--quiet", "-b", "other", str(tree))
    _git(tree, "commit", "--quiet", "--allow-empty", "--message=b")

    assert head_commit(tree) == _git(tree, "rev-parse", "HEAD")
    assert head_commit(tree) != head_commit(checkout)


def test_folder_that_is_no_checkout_has_no_commit(tmp_path: Path) -> None:
    assert head_commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert head_commit(tmp_path) is None


@pytest.mark.parametrize(
    ("manifest", "commit"),
    [
        ({"robot": {"commit": COMMIT}}, COMMIT),
        ({"robot": {"commit": "main"}}, None),
        ({"robot": COMMIT}, None),
        ({}, None),
        ([], None),
    ],
)
def test_manifest_of_a_mirror_gives_commits(
    tmp_path: Path, manifest: object, commit: str | None
) -> None:
    """For folders that are no checkouts; invalid commits are ignored."""
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))

    assert mirrored_commit(tmp_path, "robot") == commit


def test_checkout_in_a_mirror_has_priority_over_the_manifest(checkout: Path) -> None:
    manifest = {"checkout": {"commit": COMMIT}}
    (checkout.parent / MANIFEST).write_text(json.dumps(manifest))

    assert mirrored_commit(checkout.parent, "checkout") == head_commit(checkout)
