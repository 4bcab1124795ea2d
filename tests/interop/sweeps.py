"""Sweeps on a cluster of HyperQueue that is started here: the same bytes as serially, whatever is killed.

    sweeps.py CLARKE

A server and two workers are started in one process: PyPI's hyperqueue has no worker of its own to start, and a worker ends with its process.
What a part of the sweep runs as is killed while it works: it is begun again, and goes on where it was. Then the process of server and
workers is killed, and another cluster goes on.
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tests/tools")]
CLARKE = os.environ["CLARKE"] = os.path.abspath(sys.argv[1])

from expect import expect, finish  # noqa: E402


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def make(folder):
    for name in ("lenet-q6.onnx", "images-pair.npz", "images-binary.npz", "images-blank.npz"):
        shutil.copy(ROOT / "cases/audit" / name, folder)
    (folder / "minimal.profile").write_text("tie MaxPool mean\n")
    (folder / "sweep.json").write_text(json.dumps({"model": "lenet-q6.onnx", "batches": "images-*.npz", "profiles": ["pytorch-2.13", "minimal.profile"],
                                                   "formats": ["float32", "float64"], "seeds": {"from": 1, "count": 8}}))
    return folder / "sweep.json"


def tasks_of(output):
    """Processes that work at a part of it."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
        except OSError:
            continue
        if b"sweep" in command and any(word.startswith(os.fsencode(output)) for word in command):
            found.append(int(process.name))
    return found


def begun(output):
    """Parts that have a line."""
    return [p for p in Path(output).parent.glob(Path(output).name + ".part-*") if p.suffix not in (".out", ".err") and p.stat().st_size > 1000]


def kill_one(output):
    """The first that has a line: it would lose what it has not written."""
    while True:
        for process in tasks_of(output) if begun(output) else []:
            try:
                os.kill(process, signal.SIGKILL)
                return
            except ProcessLookupError:
                pass
        time.sleep(.005)


def on_cluster(manifest, output):
    import clarke
    clarke.sweep(manifest, output, shards=3, cluster="local")


def kill_cluster(manifest, output):
    """Server and workers end while they work, and with them who asked; what is left is parts with some lines."""
    whole = subprocess.Popen([sys.executable, __file__, CLARKE, str(manifest), output], env={**os.environ, "TMPDIR": os.path.dirname(output)})
    while whole.poll() is None and not begun(output):
        time.sleep(.005)
    expect(whole.poll() is None, "the cluster was killed while it worked")
    whole.kill()
    whole.wait()
    expect(not os.path.exists(output) and len(begun(output)) > 0, "some parts were begun, and nothing merged")


def main():
    import clarke
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = make(folder)
        subprocess.run([CLARKE, "sweep", str(manifest), "-o", str(folder / "serial.jsonl")], check=True, stdout=subprocess.DEVNULL)
        said = clarke.sweep(manifest, folder / "three.jsonl", shards=3, tau=1e30)
        expect(said["jobs"] == 24 and said["missing"] == 0 and said["tau"] == 1e30, f"{said}")
        pair = json.loads(manifest.read_text())["profiles"][:2]
        expect(clarke.sweep(manifest, folder / "three.jsonl", tau=tuple(pair))["tau_of"] == ",".join(pair), "a threshold from a pair")
        try:
            clarke.sweep(manifest, folder / "none.jsonl", options=("--tau", "1"))
            expect(False, "an option that would change nothing")
        except ValueError as why:
            expect("tau=" in str(why), f"{why}")
        expect(digest(folder / "three.jsonl") == digest(folder / "serial.jsonl"), "three parts, one after another")
        output = str(folder / "cluster.jsonl")
        killer = subprocess.Popen([sys.executable, __file__, CLARKE, output])  # the client's thread keeps Python's lock
        clarke.sweep(manifest, output, shards=2, cluster="local")
        expect(killer.poll() == 0, "a part was killed while it worked")
        killer.kill()
        expect(digest(output) == digest(folder / "serial.jsonl"), "on a cluster, with a part that was killed")
        again = str(folder / "again.jsonl")
        kill_cluster(manifest, again)
        on_cluster(manifest, again)
        expect(digest(again) == digest(folder / "serial.jsonl"), "on a second cluster, when the first was killed")
        expect(sorted(p.name for p in folder.glob("*.part-*")) == [], "no part is left")
        (folder / "bad.json").write_text(manifest.read_text().replace("lenet-q6.onnx", "none.onnx"))
        try:
            clarke.sweep(folder / "bad.json", folder / "bad.jsonl", shards=2, cluster="local", retries=0)
            expect(False, "a sweep of no model has an answer")
        except clarke.Failed as why:
            expect("none.onnx" in str(why), f"why: {why}")
    finish()


if len(sys.argv) == 2:
    main()
elif len(sys.argv) == 3:
    kill_one(sys.argv[2])
else:
    on_cluster(*sys.argv[2:])
