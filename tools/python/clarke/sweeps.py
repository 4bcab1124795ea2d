"""clarke.sweep: a sweep's parts on a cluster of HyperQueue, and what they say together."""
from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import Any, Sequence

from .answer import AT_WORK, Failed, Said, answered, ended, program

CRASHES = 100  # of workers, each of which begins a part again


class Swept(Said):
    """All that `clarke merge --json` says of a sweep, by its keys: "jobs", "exact", "groups", ... (docs/sweep.md)."""

    @property
    def verdict(self) -> str:
        """What exact gradients do: differ, somewhere; else not known, somewhere; else equal; nothing compared, of one profile."""
        words = {"differ": "differ", "unknown": "not known", "equal": "equal"}
        return next((words[key] for key in words if self["exact"][key] > 0), "nothing compared")

    @property
    def tone(self) -> str:
        return "#2a7" if self.verdict == "equal" else "#c80"

    @property
    def touched(self) -> None:
        """A sweep counts no kinks."""
        return None


@contextmanager
def client_of(cluster, workers):
    """The client of a running server: it, its folder, or one that is started here, with so many workers."""
    try:
        import hyperqueue
        import hyperqueue.cluster as clusters
    except ImportError:
        raise Failed("a cluster needs HyperQueue: pip install hyperqueue==0.27.0") from None
    if cluster == "local":
        with clusters.LocalCluster() as local:
            for _ in range(workers):
                local.start_worker(clusters.WorkerConfig(cores=1))
            yield local.client()
    elif isinstance(cluster, (str, os.PathLike)):
        yield hyperqueue.Client(os.fspath(cluster))
    else:
        yield cluster.client() if hasattr(cluster, "client") else cluster


def arguments_of(manifest, part, shards, output, options):
    return ["sweep", manifest, "--shard", f"{part}/{shards}", "-o", output, *options]


def submit(client, manifest, parts, options):
    """Each part of `parts`, number: its file. What a part says goes beside its file."""
    import hyperqueue
    job = hyperqueue.Job(max_fails=None, name="clarke sweep")
    for part, (shards, output) in parts.items():
        job.program([program(), *arguments_of(manifest, part, shards, output, options)], crash_limit=CRASHES,
                    stdout=output + ".out", stderr=output + ".err")
    client.wait_for_jobs([client.submit(job)], raise_on_error=False)


def here(manifest, parts, options):
    """One after another, with no cluster."""
    for part, (shards, output) in parts.items():
        with open(output + ".err", "w", encoding="utf-8") as heard:
            done = subprocess.run([program(), *arguments_of(manifest, part, shards, output, options)], stdout=subprocess.DEVNULL, stderr=heard)
        if done.returncode < 0:
            raise Failed(f"part {part} of the sweep ended with {ended(done.returncode)}")


def heard(parts):
    """What parts said on standard error, without what is said twice."""
    lines = []
    for _, output in parts.values():
        if os.path.exists(output + ".err"):
            with open(output + ".err", encoding="utf-8", errors="replace") as f:
                lines += [line.rstrip() for line in f if line.rstrip() not in lines and not line.startswith(AT_WORK)]
    return "\n".join(lines[:10]) or "nothing was said"


def sweep(manifest: str | os.PathLike[str], output: str | os.PathLike[str], *, cluster: Any = None, shards: int = 16, workers: int = 2, retries: int = 3,
          tau: float | tuple[str, str] = 0.0, options: Sequence[str] = ()) -> Swept:
    """clarke.sweep("sweep.json", "results.jsonl", cluster="local")

    The sweep that the manifest describes (docs/sweep.md), in so many parts; the summary, as `clarke merge --json` prints it. The bytes of `output`
    are those of `clarke sweep MANIFEST -o OUTPUT`. cluster: a HyperQueue server's folder, its client, or a LocalCluster; "local": one that is
    started here, with so many workers; None: none, and parts run one after another. A part whose worker ends is begun again by another one, and goes
    on where it was. So is one that was ended itself, `retries` times. Parts lie beside `output`, OUTPUT.part-I, until all is there.
    tau: differences beyond it are counted in the summary; ("P", "Q"), two of the manifest's profiles: beyond their least positive difference.
    options: of `clarke sweep`, for each part, such as --reduction.
    """
    if shards < 1 or workers < 1 or retries < 0:
        raise ValueError(f"shards is {shards}, workers {workers}, retries {retries}: give the first two 1 or more, the last 0 or more")
    if any(option.startswith("--tau") for option in options):
        raise ValueError("--tau is of a part's summary, which is not looked at: take sweep(..., tau=...)")
    manifest, output = os.path.abspath(manifest), os.path.abspath(output)
    parts = {part: (shards, f"{output}.part-{part}") for part in range(1, shards + 1)}
    if cluster is None:
        here(manifest, parts, options)
        merged = merge(parts, output, tau)
    else:
        with client_of(cluster, workers) as client:
            for _ in range(retries + 1):
                submit(client, manifest, parts, options)
                merged = merge(parts, output, tau)
                if merged is not None and merged["missing"] == 0:
                    break
    if merged is None or merged["missing"] > 0:
        raise Failed(f"{merged['missing'] if merged is not None else 'all'} jobs of the sweep have no answer: {heard(parts)}")
    for _, path in parts.values():
        for ending in ("", ".out", ".err"):
            if os.path.exists(path + ending):
                os.remove(path + ending)
    return Swept(merged)


def merge(parts, output, tau):
    """The summary of the parts that have lines; None: none has."""
    files = [path for _, path in parts.values() if os.path.exists(path) and os.path.getsize(path) > 0]
    return answered("merge", *files, "-o", output, "--tau", ",".join(tau) if isinstance(tau, tuple) else repr(float(tau)), "--json") if files else None
