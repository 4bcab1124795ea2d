"""clarke as it is begun by a fork (server.c) and as it is begun: the same output, errors, status, files and signals.

    forked test_forked.py CLARKE FORKED-CLARKE
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUDIT = ROOT / "cases/audit"
QUESTION = ["audit", AUDIT / "lemma2.onnx", "--batch", AUDIT / "lemma2.npz", "--loss", "sum"]
# Words, and variables of the environment.
COMMANDS = [
    (["--version"], {}),
    (["--help"], {}),
    ([], {}),
    (["nonsense"], {}),
    (["audit"], {}),
    (["audit", "--help"], {}),
    (["derive", "--nonsense"], {}),
    (["two\nlines"], {}),
    (["a" * 100_000] * 4, {}),  # more than a socket takes at once
    ([*QUESTION, "--proof", "proof", "--gradient", "g.safetensors"], {}),
    ([*QUESTION, "--json"], {}),
    ([*QUESTION, "--json"], {"CLARKE_STOP_AFTER": "1"}),
    ([*QUESTION, "--json", "--limit", "file=10"], {}),
    (["derive", "here.prog", "--at", "x=0", "--proof", "proof"], {}),
    (["derive", "here.prog", "--at", "x=0", "--json"], {"COLUMNS": "20"}),
]


def ended(program, words, folder, variables=(), **more):
    """Output, errors, status; files and their modes."""
    for file in folder.iterdir():
        file.unlink()
    (folder / "here.prog").write_text("input x\noutput relu(x) - relu(-x)\n")
    done = subprocess.run([program, *map(str, words)], cwd=folder, env={**os.environ, **dict(variables)}, capture_output=True, **more)
    files = {file.name: (file.stat().st_mode, file.read_bytes()) for file in sorted(folder.iterdir())}
    return done.stdout, done.stderr.replace(str(program).encode(), b"clarke"), done.returncode, files


def same(programs, folder, words, variables=(), **more):
    real, forked = (ended(program, words, folder, variables, **more) for program in programs)
    if real != forked:
        sys.exit(f"{words}, {variables}, {more}:\n{real}\n{forked}")
    return real


def files_may_not_grow():
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))


def space_is_scarce():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))


def children(process):
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and parent(p) == process]


def parent(folder):
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def awaited(what, seconds=60):
    for _ in range(100 * seconds):
        found = what()
        if found:
            return found
        time.sleep(0.01)
    sys.exit("waited in vain")


def long_command(program, folder):
    """One that waits for its input for ever: a pipe that nobody writes to."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    child = subprocess.Popen([program, "derive", pipe, "--at", "x=0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return child, pipe


def signals(forked, folder):
    """One that ends the command ends what was begun as the command, and the other way round."""
    server = os.getppid()
    for sent in (signal.SIGKILL, signal.SIGABRT):
        here = folder / sent.name
        here.mkdir()
        child, _ = long_command(forked, here)
        worker = awaited(lambda: [p for p in children(server) if p not in (os.getpid(), child.pid)])[0]
        if sent == signal.SIGKILL:
            child.send_signal(sent)
        else:
            os.kill(worker, sent)
        said = child.communicate(timeout=60)
        assert child.returncode == -sent, (sent, child.returncode, said)
        awaited(lambda: not Path(f"/proc/{worker}").exists())


def main():
    real, forked = (Path(word).resolve() for word in sys.argv[1:3])
    assert os.environ["CLARKE_FORKED"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for words, variables in COMMANDS:
            same((real, forked), folder, words, variables)
        assert same((real, forked), folder, COMMANDS[9][0])[2:] != (2, {})
        proof = [*QUESTION, "--proof", "proof"]
        same((real, forked), folder, proof, umask=0o077)
        assert same((real, forked), folder, proof, preexec_fn=files_may_not_grow)[2] == 2
        if "ASAN_OPTIONS" not in os.environ:  # whose shadow needs more
            same((real, forked), folder, proof, preexec_fn=space_is_scarce)
        same((real, forked), folder, ["--version"], preexec_fn=lambda: os.close(1))
        os.environ["CLARKE_FORKED"], kept = "nobody", os.environ["CLARKE_FORKED"]
        same((real, forked), folder, ["--version"])  # without a server
        os.environ["CLARKE_FORKED"] = kept
        signals(forked, folder)
    print("the same")


if __name__ == "__main__":
    main()
