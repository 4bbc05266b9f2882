import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curriculum_labeling.data.manifests import list_images


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest beside three image files."""
    for name in ("a.jpg", "b,c.jpg", "sub/d.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def write(text, encoding="utf-8"):
        (tmp_path / "manifest.csv").write_bytes(text.encode(encoding))
        return tmp_path / "manifest.csv"

    return write


def test_paths_are_relative_to_the_manifest_and_an_empty_label_is_unlabeled(manifest, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    listing = list_images(manifest('path,label\na.jpg,dog\n"b,c.jpg", cat \n\nsub/../sub/d.jpg,\n'))
    assert [Path(path).name for path in listing.paths] == ["a.jpg", "b,c.jpg", "d.jpg"]
    assert listing.paths[2] == str(tmp_path / "sub" / "d.jpg")
    assert listing.classes == ("cat", "dog")
    assert listing.labels.tolist() == [1, 0, -1]


def test_a_missing_field_or_column_is_unlabeled_and_absolute_paths_are_kept(manifest, tmp_path):
    assert list_images(manifest(f"path,label\n{tmp_path}/a.jpg\n")).labels.tolist() == [-1]
    assert list_images(manifest("path\na.jpg\n")).labels.tolist() == [-1]
    assert list_images(manifest("Label,Path\ncat,a.jpg\n")).classes == ("cat",)


def test_what_spreadsheets_write_is_read(manifest):
    assert list_images(manifest("path,label\r\na.jpg,cat\r\n", "utf-8-sig")).classes == ("cat",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'must begin with the line "path,label", got an empty file'),
        ("path,label\n", "must name at least one image, got only a header"),
        ("a.jpg,cat\n", r'line 1 of .* must be "path,label" \(or "path", all unlabeled\), got "a\.jpg,cat"'),
        ("path,label\na.jpg,cat\nx.jpg,cat\n", r"1 faulty line: line 3 names x\.jpg, which is no file in "),
        ("path,label\n,cat\n", "line 2 has no path"),
        ("path,label\nb,c.jpg,cat\n", r"line 2 has 3 fields instead of 2 \(put quotes around a path"),
        ("path,label\na.jpg,cat\n\nsub/../a.jpg,dog\n", r"line 4 names .*a\.jpg again, after line 2"),
        ('path,label\n"a\nb",x\nnope,y\n', "(?s)2 faulty lines: line 3 names .*; line 4 names nope"),
        ("path,label\n" + "x,y\n" * 9, "has 9 faulty lines: .*; and 4 more"),
        ('path,label\n"a.jpg,cat\n', "must be a CSV file with every quote closed, got: unexpected end of data"),
    ],
)
def test_faults_are_named_with_their_lines(manifest, text, message):
    with pytest.raises(ValueError, match=message):
        list_images(manifest(text))


def test_files_that_are_no_manifests_are_refused(manifest, tmp_path):
    with pytest.raises(ValueError, match=r"none\.csv must be a CSV file that can be read, got: No such file"):
        list_images(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must be a CSV file in UTF-8, got bytes that are no such text"):
        list_images(manifest("path,label\né.jpg,cat\n", "latin-1"))


file_names = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=("Cs", "Cc", "Zs")), min_size=1
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        file_names.filter(lambda n: n.strip() not in (".", "..") and len(n.encode()) < 100), unique=True, min_size=1
    )
)
def test_any_name_that_csv_can_write_is_read_back(names, tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    for name in names:
        (folder / f"{name}.jpg").touch()
    with open(folder / "manifest,.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("path", "label"), *((f"{name}.jpg", name) for name in names)])
    listing = list_images(folder / "manifest,.csv")
    assert [Path(path).name for path in listing.paths] == [f"{name}.jpg" for name in names]
    assert [listing.classes[label] for label in listing.labels] == names
