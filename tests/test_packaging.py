"""What an installed wheel brings along, and what Streamlit finds in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from drr import __version__
from drr.cli import app, main
from tests.support import ROOT

FIND_COMPONENTS = """
import json
from streamlit.components.v2.manifest_scanner import scan_component_manifests
print(json.dumps({
    f"{manifest.name}.{entry.name}": str(entry.resolve_asset_root(root))
    for manifest, root in scan_component_manifests() if manifest.name == "ringside" for entry in manifest.components
}))
"""


def declared_components() -> dict[str, str]:
    """The components pyproject.toml declares: full name -> folder of assets."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    entries = project["tool"].get("streamlit", {}).get("component", {}).get("components", [])
    return {f"ringside.{entry['name']}": entry["asset_dir"] for entry in entries}


def components_streamlit_finds(search_first: Path) -> dict[str, str]:
    """The same as Streamlit sees it, in a process where ``search_first`` leads the module path."""
    environment = {**os.environ, "PYTHONPATH": str(search_first)}
    command = [sys.executable, "-P", "-c", FIND_COMPONENTS]
    done = subprocess.run(command, env=environment, cwd=search_first, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_carries_the_app_its_pages_policies_and_settings(unpacked_wheel: Path) -> None:
    app = unpacked_wheel / "drr/_app"
    for name in ("app.py", "pages", "sample_policies", ".streamlit/config.toml"):
        source = ROOT / name
        files = (
            [source] if source.is_file() else [path for path in source.rglob("*.*") if "__pycache__" not in path.parts]
        )
        assert files
        for path in files:
            assert (app / path.relative_to(ROOT)).read_bytes() == path.read_bytes()


def test_the_wheel_carries_every_module_and_asset_of_the_package(unpacked_wheel: Path) -> None:
    sources = [path for path in (ROOT / "drr").rglob("*.py") if "node_modules" not in path.parts]
    sources += [path for folder in declared_components().values() for path in (ROOT / folder).rglob("*.*")]
    assert sources
    assert [path for path in sources if not (unpacked_wheel / path.relative_to(ROOT)).is_file()] == []


def test_streamlit_finds_the_components_of_a_checkout() -> None:
    expected = {name: str((ROOT / folder).resolve()) for name, folder in declared_components().items()}
    assert components_streamlit_finds(ROOT) == expected


def test_streamlit_finds_the_components_of_an_installed_wheel(unpacked_wheel: Path) -> None:
    expected = {name: str((unpacked_wheel / folder).resolve()) for name, folder in declared_components().items()}
    assert components_streamlit_finds(unpacked_wheel) == expected


def test_the_app_listens_on_loopback_and_follows_the_named_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "name", "other")  # one that starts the server as a child
    monkeypatch.setattr(subprocess, "call", lambda command: started.append(command) or 7)
    monkeypatch.chdir(tmp_path)
    assert main(["app", "--policy", "mine.yaml"]) == 7
    serve = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.address", "127.0.0.1"]
    assert started == [[*serve, "--server.port", "8501", "--", "--policy", str(tmp_path / "mine.yaml")]]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("address", "is_told"),
    [("0.0.0.0", True), ("::", True), ("build-7", True), ("::1", False), ("localhost", False), ("127.0.0.9", False)],
)
def test_whoever_opens_the_app_to_others_is_told_what_that_means(
    address: str, is_told: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "name", "other")
    monkeypatch.setattr(subprocess, "call", lambda command: 0)
    assert main(["app", "--address", address, "--port", "80"]) == 0
    assert ("needs no password" in capsys.readouterr().err) is is_told


def test_an_installation_without_pages_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "_SCRIPTS", (tmp_path / "app.py", tmp_path / "_app" / "app.py"))
    assert main(["app"]) == 2
    assert "the pages are not installed" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "٨٠"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["app", f"--port={port}"])
    assert "a whole number from 1 to 65535" in capsys.readouterr().err


def test_the_changelog_has_the_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
