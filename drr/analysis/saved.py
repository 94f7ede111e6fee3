"""Runs and sweeps kept under a name: one folder each, with a table (Parquet, or CSV) and a manifest (JSON).

Nothing that is saved is ever overwritten unless that is asked for. A folder appears in one go, so a half-written one is
never seen, and the manifest holds the SHA-256 of the table, so a changed one is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from drr import __version__
from drr.analysis.outcomes import class_figures, other_rule_line, result_line
from drr.analysis.sweep import Axis, RandomSample, Span, Sweep
from drr.analysis.sweep_frame import intervals_frame, sweep_frame, write_csv, write_parquet
from drr.analysis.sweep_running import run_sweep
from drr.analysis.words import counted
from drr.errors import DrrError
from drr.simulation.recording import Run
from drr.workload.experiment import Experiment, TraceWorkload

VARIABLE = "RINGSIDE_SAVED"
"""Environment variable that names the folder of what is saved."""
FORMAT = 1
MANIFEST = "manifest.json"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
NAME_CHARACTERS = "1 to 80 letters, digits, `_`, `.` and `-`, the first no `.` or `-`"
Kind = Literal["run", "sweep"]


@dataclass(frozen=True, slots=True)
class Saved:
    """One thing that was saved. ``manifest`` is its JSON; ``problem`` says why it cannot be used, "" where it can."""

    name: str
    path: Path
    manifest: Mapping[str, Any]
    problem: str = ""

    @property
    def kind(self) -> Kind:
        """A run or a sweep."""
        return "sweep" if self.manifest.get("kind") == "sweep" else "run"

    @property
    def table_path(self) -> Path:
        """The file of its table."""
        return self.path / str(self.manifest["table"])

    def experiment(self) -> Experiment:
        """The experiment of a run, or the base of a sweep.

        A trace is named in it, not contained; it is found again where the very same file lies where it lay.
        """
        made = Experiment.from_mapping(self.manifest["experiment"])
        path = Path(str(self.manifest.get("trace_path", "")))
        if not isinstance(made.workload, TraceWorkload) or not path.is_file():
            return made
        is_same = hashlib.sha256(path.read_bytes()).hexdigest() == made.workload.sha256
        return changed(made, workload=changed(made.workload, path=str(path))) if is_same else made

    def sweep(self) -> Sweep:
        """The sweep; raises :class:`DrrError` for a run."""
        if self.kind != "sweep":
            raise DrrError(f"{self.name} is a run, not a sweep")
        data = self.manifest["sweep"]
        axes = tuple(
            Axis(each["path"], tuple(each["values"]), None if each["span"] is None else Span(**each["span"]))
            for each in data["axes"]
        )
        sample = None if data["sample"] is None else RandomSample(**data["sample"])
        return Sweep(base=self.experiment(), axes=axes, sample=sample, replications=data["replications"])

    def table(self) -> pd.DataFrame:
        """Its table; raises :class:`DrrError` where the file is gone or is another one than was saved."""
        try:
            digest = hashlib.sha256(self.table_path.read_bytes()).hexdigest()
        except OSError as error:
            raise DrrError(f"cannot read {self.table_path}: {error.strerror or error}") from None
        if digest != self.manifest["sha256"]:
            raise DrrError(f"{self.table_path} was changed since it was saved")
        if self.table_path.suffix != ".parquet":
            return pd.read_csv(self.table_path, keep_default_na=True, na_values=[""]).replace({"problem": {None: ""}})
        return pd.read_parquet(self.table_path)

    def line(self) -> str:
        """What it is, in one line."""
        return str(self.manifest.get("result", ""))


def saved_folder(folder: Path | None = None) -> Path:
    """The folder of what is saved: the given one, else that of :data:`VARIABLE`; raises where neither is there."""
    named = os.environ.get(VARIABLE)
    if folder is None and not named:
        raise DrrError(f"say where saved runs are kept: --saved FOLDER, or the variable {VARIABLE}")
    return folder if folder is not None else Path(str(named))


def save_run(folder: Path, name: str, experiment: Experiment, run: Run, *, replace: bool = False) -> Saved:
    """Keep a run under a name: a line per request, its figures under both rules, the experiment."""
    manifest = {
        "kind": "run",
        "result": result_line(run),
        "other_rule": other_rule_line(run),
        "cursor_rule": run.cursor_rule,
        "figures": {each.cursor_rule: [asdict(f) for f in class_figures(each)] for each in (run, run.other_rule)},
        **_experiment(experiment),
    }
    return _save(folder, name, manifest, run.requests_frame(), replace=replace)


def save_sweep(folder: Path, name: str, sweep: Sweep, frame: pd.DataFrame, *, replace: bool = False) -> Saved:
    """Keep a sweep under a name: its table (:func:`drr.analysis.sweep_frame.sweep_frame`), axes and base."""
    axes = ", ".join(f"{axis.path} ({len(axis.values):,})" for axis in sweep.axes)
    manifest = {
        "kind": "sweep",
        "result": f"{sweep.size:,} points over {axes}, {counted(sweep.replications, 'seed')} each",
        "sweep": {
            "axes": [asdict(axis) for axis in sweep.axes],
            "sample": None if sweep.sample is None else asdict(sweep.sample),
            "replications": sweep.replications,
        },
        **_experiment(sweep.base),
    }
    return _save(folder, name, manifest, frame, replace=replace)


def _experiment(experiment: Experiment) -> dict[str, object]:
    workload = experiment.workload
    path = {"trace_path": workload.path} if isinstance(workload, TraceWorkload) and workload.path else {}
    return {"experiment": experiment.to_mapping(), **path}


def _save(folder: Path, name: str, manifest: Mapping[str, object], frame: pd.DataFrame, *, replace: bool) -> Saved:
    place = folder / name
    if not replace:
        free_place(folder, name)
    _checked(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder))
    except OSError as error:
        raise DrrError(f"cannot save in {folder}: {error.strerror or error}") from None
    try:
        table = _write_table(frame, temporary)
        whole = {
            "format": FORMAT,
            "name": name,
            "saved_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "ringside": __version__,
            **manifest,
            "table": table.name,
            "rows": len(frame),
            "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        }
        text = json.dumps(whole, indent=1, ensure_ascii=False)
        (temporary / MANIFEST).write_text(text, encoding="utf-8")
        temporary.chmod(0o755)
        _put(temporary, place, replace=replace)
    except OSError as error:
        raise DrrError(f"cannot save {name!r} in {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return load(folder, name)


def free_place(folder: Path, name: str) -> Path:
    """The folder, where nothing is saved under the name yet: to be asked before long work, not after it."""
    if (folder / _checked(name)).exists():
        raise DrrError(f"{name!r} is there already; take another name; only `saved keep --replace` replaces one")
    return folder


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise DrrError(f"{name!r} is no name for what is saved; {NAME_CHARACTERS} are allowed")
    return name


def _write_table(frame: pd.DataFrame, folder: Path) -> Path:
    """The table as Parquet, as CSV where that cannot be written."""
    writers: tuple[tuple[str, Callable[[pd.DataFrame, Path], None]], ...]
    writers = (("table.parquet", write_parquet), ("table.csv", write_csv))
    for name, write in writers[:-1]:
        try:
            write(frame, folder / name)
        except DrrError:
            continue
        return folder / name
    name, write = writers[-1]
    write(frame, folder / name)
    return folder / name


def _put(temporary: Path, place: Path, *, replace: bool) -> None:
    """Move a finished folder to its place; what stands there goes only after the new one is complete."""
    if not replace or not place.exists():
        try:
            temporary.rename(place)  # fails where somebody else took the name meanwhile
        except OSError as error:
            raise DrrError(f"{place.name!r} is there already; take another name ({error.strerror})") from None
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}.old.", dir=place.parent))
    place.rename(old / "it")
    temporary.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path, name: str) -> Saved:
    """What was saved under a name; raises :class:`DrrError` where there is nothing, or nothing that can be used."""
    found = _look(folder / _checked(name))
    if found is None:
        names = ", ".join(each.name for each in saved_in(folder)) or "nothing"
        raise DrrError(f"nothing is saved as {name!r} in {folder}; there is {names}")
    if found.problem:
        raise DrrError(f"{name!r} cannot be used: {found.problem}")
    return found


def saved_in(folder: Path) -> list[Saved]:
    """Everything that is saved in a folder, the newest first; what cannot be used has a problem."""
    if not folder.is_dir():
        return []
    places = [path for path in sorted(folder.iterdir()) if NAME.fullmatch(path.name)]
    found = [each for path in places if (each := _look(path)) is not None]
    return sorted(found, key=lambda each: str(each.manifest.get("saved_at", "")), reverse=True)


def _look(path: Path) -> Saved | None:
    """One folder; None where it is none of ours."""
    file = path / MANIFEST
    if not file.is_file():
        return None
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Saved(path.name, path, {}, f"its manifest cannot be read ({error})")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return Saved(path.name, path, {}, f"its manifest is of another format than {FORMAT}")
    missing = [key for key in ("kind", "table", "sha256", "experiment") if key not in manifest]
    if missing or Path(str(manifest["table"])).name != manifest["table"]:
        return Saved(path.name, path, {}, f"its manifest lacks {', '.join(missing) or 'a table beside it'}")
    return Saved(path.name, path, manifest)


def compare_saved(first: Saved, second: Saved) -> pd.DataFrame:
    """Figures of two runs or of two sweeps side by side: a line per figure, with the difference (second minus first).

    Runs are joined by rule and class, sweeps by rule, class and the settings that both vary. The columns of the two are
    called by their names.
    """
    if first.name == second.name:
        raise DrrError(f"{first.name} is compared with itself; name two different ones")
    if first.kind != second.kind:
        kinds = f"{first.name} is a {first.kind} and {second.name} a {second.kind}"
        raise DrrError(f"{kinds}: they have nothing to compare")
    long = []
    for each in (first, second):
        table = saved_figures(each)
        keys = [name for name in table.columns if name not in _COMPARED]
        long.append(table.melt(keys, list(_COMPARED), "figure", each.name))
    shared = [name for name in long[0].columns if name in long[1].columns]
    joined = long[0].merge(long[1], on=shared)[[*shared, first.name, second.name]]
    if joined.empty:
        raise DrrError(f"{first.name} and {second.name} have no class, rule and setting in common")
    return joined.assign(difference=joined[second.name] - joined[first.name])


_COMPARED = ("got_share", "wait_p50_ms", "wait_p95_ms", "refused", "service_tokens")


def saved_figures(saved: Saved) -> pd.DataFrame:
    """The figures that are compared: a line per rule and class of a run, and per point of a sweep (means)."""
    if saved.kind == "sweep":
        means = intervals_frame(saved.table(), _COMPARED)
        kept = [name for name in means.columns if not name.endswith("_95") and name not in ("point", "seeds")]
        return means[kept].astype(dict.fromkeys(_COMPARED, float))
    lines = [
        (rule, f["name"], f["got_share"], f["wait"]["p50"], f["wait"]["p95"], f["refused"], f["service_tokens"])
        for rule, figures in saved.manifest["figures"].items()
        for f in figures
    ]
    frame = pd.DataFrame(lines, columns=["cursor_rule", "policy_class", *_COMPARED])
    return frame.astype(dict.fromkeys(_COMPARED, float))


def same_again(saved: Saved, progress: Callable[[int, int], object] | None = None) -> bool:
    """Run it once more and compare the tables. A trace has to be where it was; saved runs only name it."""
    if saved.kind == "sweep":
        result = run_sweep(saved.sweep(), report=lambda p: None if progress is None else progress(p.over, p.total))
        again = sweep_frame(result)
    else:
        again = saved.experiment().run(progress, record=False).requests_frame()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / saved.table_path.name
        (write_csv if path.suffix == ".csv" else write_parquet)(again, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return digest == str(saved.manifest["sha256"])
