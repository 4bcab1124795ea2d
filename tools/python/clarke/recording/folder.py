"""A run folder while somebody writes to it: alone, and what it holds is old or new, never half (docs/run-format.md)."""
import contextlib
import fcntl
import json
import os
import re
import weakref

from ..files import discard, temporary, write
from ..refused import FOLDER, Refused

RUN, LOCK = "run.json", ".clarke.lock"
OURS = re.compile(r"graph\.onnx|pytorch-[\d.]+\.profile|step-\d{6,}\.(batch\.npz|(parameters|gradients|trace|optimizer(-\d+)?)\.safetensors|trees\.json)")
TEMPORARY = re.compile(rf"({OURS.pattern}|run\.json)\.[0-9a-f]{{16}}\.tmp")
END = "\n ]\n}\n"  # of run.json, whose last entry is the list of steps

# ---- run.json


def text_of_entry(value):
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"


def text_of(run, known=None):
    """run.json: a line for each entry of its lists. (Python's own indented form takes as long as a small step.) known: the texts of some."""
    known = known or {}
    return "{\n " + ",\n ".join(f"{json.dumps(key)}: {known.get(key) or text_of_entry(value)}" for key, value in run.items()) + "\n}\n"


def text_behind(before, run):
    """The same. Of the run that was there (its text, and what it says), but for a step, it is that text and a line."""
    last = list(run)[-1]
    if before is not None and before[0].endswith(END) and last == "steps" and list(before[1]) == list(run):
        old = before[1]
        if all(run[key] == old[key] for key in run if key != last) and run[last][:-1] == old[last] != []:
            return before[0].removesuffix(END) + ",\n  " + json.dumps(run[last][-1]) + END
    return text_of(run)


class Descriptions:
    """Those that were written last. A long one takes as long to read as a step, and is the same file most of the time."""

    def __init__(self):
        self.held = {}  # by the folder: run.json, and what it says

    def read(self, path):
        """(The text, what it says) of a folder's run.json."""
        name = os.path.join(path, RUN)
        try:
            with open(name, encoding="utf-8") as f:
                text = f.read()
            held = self.held.get(os.path.abspath(path))
            found = held if held is not None and held[0] == text else (text, json.loads(text))
        except FileNotFoundError:
            raise Refused(path, f"it has no {RUN}", "record a folder's first step without append") from None
        except ValueError as why:
            raise Refused(name, f"cannot be read ({why})", FOLDER) from None
        if found is not held:
            require_run(name, found[1])
        return found

    def hold(self, path, text, run):
        if len(self.held) == 4:
            self.held.clear()
        self.held[os.path.abspath(path)] = text, run


DESCRIPTIONS = Descriptions()


def require_run(name, run):
    try:
        named(run)
        right = run["format"] == "clarke-run"
    except (KeyError, TypeError, AttributeError):
        right = False
    if not right:
        raise Refused(name, "no description of a run", FOLDER)


def named(run):
    """The files of a run that have a name such as is given here."""
    entries = [run.get("graph"), *(e for step in run["steps"] for e in step["files"].values())]
    return {name for name in (str(run.get("profile")), *(e["file"] for e in entries if e)) if OURS.fullmatch(name)}


# ---- The folder


def surely(clean):
    """What may be done twice is done again where Ctrl-C came between."""
    try:
        clean()
    except BaseException:
        clean()
        raise


def no_link(path, flags):
    return os.open(path, flags | os.O_NOFOLLOW)


LOCKS = weakref.WeakSet()  # the files that are open


def close_in_child():
    """A forked process shares its parent's locks as long as it has them open."""
    for lock in list(LOCKS):
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=close_in_child)


class Folder:
    """with Folder(path) as folder: folder.put(name, parts); ...; folder.commit(run, before)

    One at a time has it, of all processes and threads. What is not committed leaves nothing, not even folders that were made.
    The lock ends with its holder, however that ends. Its file is removed by the holder: who finds one has it from a writer
    that was killed, and takes away what that one had begun."""

    def __init__(self, path):
        self.path, self.made = path, []
        self.new, self.aside = {}, {}  # by the names that files get, or had: where they lie
        self.lock, self.locked, self.moving, self.committed = None, False, False, False
        self.left = False  # was the lock's file there before?

    def at(self, name):
        return os.path.join(self.path, name)

    def __enter__(self):
        try:
            while not self.locked:
                self.take()
        except BaseException:
            surely(self.leave)
            raise
        return self

    def __exit__(self, *_):
        surely(self.leave)

    # ---- The lock

    def take(self):
        """Waits for the lock. It is none if its file was removed meanwhile, by one who had it."""
        self.make()
        self.left = False
        try:
            self.lock = open(self.at(LOCK), "x+b", buffering=0)
        except FileExistsError:
            self.left = True
            with contextlib.suppress(FileNotFoundError):
                self.lock = open(self.at(LOCK), "r+b", buffering=0, opener=no_link)
        except FileNotFoundError:  # the folder was another's, who has removed it
            return
        if self.lock is None:
            return
        LOCKS.add(self.lock)
        self.wait(self.left)
        self.locked = self.holds()
        if not self.locked:
            self.lock.close()
            self.lock = None
        elif self.left:
            self.sweep()

    def wait(self, left):
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        except OSError as why:
            if not left:
                discard(self.at(LOCK))
            raise OSError(why.errno, f"the folder cannot be locked ({why.strerror}), and without a lock two writers lose each other's steps; "
                          "record to a file system that has locks", self.path) from None

    def holds(self):
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self.at(LOCK), follow_symlinks=False), os.fstat(self.lock.fileno()))
        return False

    def make(self):
        path, missing = os.path.abspath(self.path), []
        while not os.path.isdir(path) and path != os.path.dirname(path):
            missing.append(path)
            path = os.path.dirname(path)
        for path in reversed(missing):
            self.made.append(path)
            try:
                os.mkdir(path)
            except FileExistsError:
                self.made.pop()
                if not os.path.isdir(path):
                    raise

    def sweep(self):
        """Takes away what a killed writer had begun: temporary files, and those that it says it was about to name, or to remove, if nobody
        names them."""
        begun = set(self.lock.read().decode(errors="replace").split("\n"))
        try:
            kept = named(self.read()[1])
        except Refused:
            kept = begun if os.path.lexists(self.at(RUN)) else set()
        for name in os.listdir(self.path):
            if TEMPORARY.fullmatch(name) or (name in begun - kept and OURS.fullmatch(name)):
                with contextlib.suppress(OSError):
                    os.unlink(self.at(name))
        self.lock.seek(0)
        self.lock.truncate()

    # ---- Files

    def read(self):
        return DESCRIPTIONS.read(self.path)

    def put(self, name, parts, hashed=True, size=0):
        """A file that gets its name with the others. (Its entry in run.json.) size: its bytes, at least."""
        self.new[name] = temporary(self.at(name))
        digest = write(self.new[name], parts, hashed, size)
        return {"file": name} | ({"sha256": digest} if hashed else {})

    def commit(self, run, before=None, known=None):
        """All files get their names, run.json the last. before: the run, as read, that goes on; else it ends, and its files go with it. known: texts of
        entries of run.json.

        A process that is killed meanwhile leaves the run that goes on as it was; in the place of one that ends, no run.json."""
        text = text_of(run, known) if known else text_behind(before, run)
        self.put(RUN, [text.encode()])
        files = [name for name in self.new if name != RUN]
        self.require_free(files, before)
        old = [RUN, *self.ended()] if before is None else []
        self.lock.write("\n".join(old + files).encode())
        self.moving = True
        for name in old + files:
            self.set_aside(name)
        for name, begun in self.new.items():
            os.replace(begun, self.at(name))
        self.committed = True
        DESCRIPTIONS.hold(self.path, text, run)

    def require_free(self, files, before):
        """The run that goes on keeps its files."""
        taken = [name for name in files if before is not None and os.path.lexists(self.at(name)) and name in named(before[1])]
        if taken:
            raise Refused(self.at(taken[0]), f"of another step, as {RUN} says", FOLDER)

    def ended(self):
        """The files of the run that is there."""
        with contextlib.suppress(Refused):
            return sorted(named(self.read()[1]))
        return []

    def set_aside(self, name):
        path = self.at(name)
        if name not in self.aside and (os.path.isfile(path) or os.path.islink(path)):
            self.aside[name] = temporary(self.at(name))
            os.rename(path, self.aside[name])

    # ---- The end

    def leave(self):
        """Undoes what is not committed; lets go. (Ctrl-C may come between: it may be begun again at any place.)"""
        if self.moving and RUN in self.new and not os.path.lexists(self.new[RUN]):
            self.committed = True
        while self.new and not self.committed:
            name = next(reversed(self.new))
            if self.moving and not os.path.lexists(self.new[name]):
                discard(self.at(name))
            discard(self.new[name])
            del self.new[name]
        for name, aside in self.aside.items():
            if self.committed:
                discard(aside)
            elif os.path.lexists(aside):
                os.replace(aside, self.at(name))
        self.unlock()

    def unlock(self):
        if self.lock is not None and not (self.locked or self.left or self.lock.closed):  # Ctrl-C came before it was locked
            with contextlib.suppress(OSError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.locked = self.holds()
        if self.locked and self.holds():
            os.unlink(self.at(LOCK))
        for path in [] if self.committed else reversed(self.made):
            with contextlib.suppress(OSError):  # somebody else has a file there
                os.rmdir(path)
        if self.lock is not None:
            self.lock.close()  # and so the lock is given back
            self.lock, self.locked = None, False
