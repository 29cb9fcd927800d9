"""Objects by digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from akotf.errors import IntegrityError, StoreError
from akotf.store.objects import FolderObjects


def test_put_names_by_the_bytes_and_get_returns_them(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path / "objects")
    name = objects.put(b"abc")
    assert (
        name == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )  # FIPS 180-2, appendix B.1
    assert objects.get(name) == b"abc"
    assert (tmp_path / "objects" / "sha256" / "ba" / name[9:]).read_bytes() == b"abc"


def test_json_is_stored_in_its_canonical_form(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path)
    name = objects.put({"b": 1, "a": "ô"})
    assert objects.get(name) == '{"a":"ô","b":1}'.encode()
    assert name == "sha256:" + hashlib.sha256('{"a":"ô","b":1}'.encode()).hexdigest()
    assert objects.put({"a": "ô", "b": 1}) == name


def test_putting_again_touches_nothing(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path)
    name = objects.put(b"x")
    path = next(p for p in tmp_path.rglob("*") if p.is_file())
    before = path.stat()
    assert objects.put(b"x") == name
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]  # no temporary file stays


def test_changed_bytes_are_found_and_mended_by_a_put(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path)
    name = objects.put(b"right")
    path = next(p for p in tmp_path.rglob("*") if p.is_file())
    path.chmod(0o644)
    path.write_bytes(b"wrong")
    with pytest.raises(IntegrityError) as caught:
        objects.get(name)
    assert caught.value.where == str(path)
    objects.put(b"right")
    assert objects.get(name) == b"right"


def test_what_is_not_there(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path)
    with pytest.raises(StoreError, match="there is no object"):
        objects.get("sha256:" + "0" * 64)
    for name in ("sha256:../../etc/passwd", "md5:abc", "", "sha256:" + "A" * 64):
        with pytest.raises(StoreError, match="is no digest"):
            objects.get(name)


def test_a_place_that_can_not_be_written() -> None:
    with pytest.raises(StoreError) as caught:
        FolderObjects(Path("/proc/akotf")).put(b"x")
    assert "writable" in caught.value.remedy
