#!/usr/bin/env python3
"""Completion in zsh and fish: commands, each one's options, words and profiles, as --help has them.

    shells.py CLARKE ROOT
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish, said  # noqa: E402

CLARKE, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
os.environ["PATH"] = os.path.dirname(CLARKE) + os.pathsep + os.environ["PATH"]
# zsh's own functions, as far as the file calls them: what they would offer is printed.
ZSH = """
_call_program() { shift; "$@" }
_describe() { print -l -- ${${(P)4}%%:*} }
compadd() { print -l -- ${(P)2} }
_files() { print -- FILES }
words=("$@"); CURRENT=$#; PREFIX=$words[$#]
source ROOT/tools/completion/_clarke
"""


def zsh(*words):
    offered = said("zsh", "-f", "-c", ZSH.replace("ROOT", ROOT), "zsh", "clarke", *words)
    expect(offered[2] == "", f"zsh, {words}: {offered[2]}")
    return [w for w in offered[1].split("\n") if w.startswith(words[-1]) and w not in ("", "FILES")]


def fish(*words):
    offered = said("fish", "--no-config", "-c", f"source {ROOT}/tools/completion/clarke.fish; complete -C 'clarke {' '.join(words)}'")
    expect(offered[2] == "", f"fish, {words}: {offered[2]}")
    return [line.split("\t")[0] for line in offered[1].splitlines() if "/" not in line.split("\t")[0]]


def main():
    os.chdir(ROOT + "/cases/encode")
    commands = re.findall(r"^  ([a-z-]+) ", said(CLARKE, "--help")[1].split("Commands:")[1].split("\n\n")[0], re.M)
    for name, completed in (("zsh", zsh), ("fish", fish)):
        expect(sorted(completed("")) == sorted(commands), f"{name}: {completed('')}")
        expect(sorted(completed("re")) == ["report", "reproduce"], f"{name}: {completed('re')}")
        for command in commands:
            options = re.findall(r"^ {2,8}(?:-., )?(--[a-z][a-z0-9-]*)", said(CLARKE, command, "--help")[1], re.M)
            expect(sorted(completed(command, "--")) == sorted(options) or command == "explain", f"{name}, {command}: {completed(command, '--')}, {options}")
        expect(sorted(completed("explain", "in-")) == ["in-bouligand", "in-clarke"], f"{name}: {completed('explain', 'in-')}")
        expect(completed("explain", "within") == ["within-the-bound"], f"{name}: {completed('explain', 'within')}")
        expect(completed("profile", "d") == ["diff"] and completed("profile", "show", "jax") == ["jax-0.10"], f"{name}: profiles")
        expect(not {"--sarif", *commands} & set(completed("audit", "")), f"{name}: {completed('audit', '')}")
    finish()


main()
