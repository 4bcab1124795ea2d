#!/usr/bin/env python3
"""What is handed on builds and answers: the tarball that `meson dist` makes, or Debian's packages.

    packages.py BUILD tarball|debian
"""
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(ROOT, "tests", "tools"))
from expect import expect, finish  # noqa: E402

BUILD, WHAT = os.path.abspath(sys.argv[1]), sys.argv[2]


def done(*command, **also):
    """Did it succeed? What it said is shown where it did not."""
    ran = subprocess.run(command, capture_output=True, text=True, **also)
    expect(ran.returncode == 0, f"{' '.join(command)}: {ran.returncode} {(ran.stdout + ran.stderr)[-3000:]}")
    return ran.returncode == 0, ran.stdout


def answers(programs, **env):
    """clarke, and clarke-check beside it."""
    ok, out = done(f"{programs}/clarke", "selftest", env={"PATH": "/usr/bin:/bin", **env})
    expect(ok and "6 of 6 answers" in out, f"{programs}: {out}")


def tarball(folder):
    """It has no files but those of the last commit, so one that was not added is missed here."""
    if not done("meson", "dist", "-C", BUILD, "--no-tests", "--formats", "xztar", "--allow-dirty")[0]:
        return
    made, = glob.glob(f"{BUILD}/meson-dist/clarke-*.tar.xz")
    done("tar", "-xf", made, "-C", folder)
    there, = glob.glob(f"{folder}/clarke-*")
    build = f"{there}/build"  # as in a clone, so that ccache knows the files
    if done("meson", "setup", build, there, "-Dtests=false", "-Dcuda=disabled")[0] and done("ninja", "-C", build)[0]:
        answers(f"{build}/tools")
    poor = subprocess.run(["meson", "setup", f"{there}/poor", there], capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_LIBDIR": "/nowhere"})
    expect(poor.returncode != 0 and "no library, or no header, of GMP (6.2), MPFR (4.1)" in poor.stdout and "tools/install-packages" in poor.stdout, f"what is missing: {poor.stdout[-500:]}")
    expect(not os.path.exists(f"{there}/.git") and os.path.isfile(f"{there}/LICENSE"), os.listdir(there))


def debian(folder):
    if not done("sh", f"{ROOT}/tools/debian/package", BUILD, folder)[0]:
        return
    names = sorted(os.path.basename(path).split("_")[0] for path in glob.glob(f"{folder}/*.deb"))
    expect([n for n in names if "dbgsym" not in n] == ["clarke", "libclarke-dev", "libclarke0"], names)
    for path in glob.glob(f"{folder}/*.deb"):
        done("dpkg-deb", "-x", path, f"{folder}/root")
    root = f"{folder}/root/usr"
    answers(f"{root}/bin")
    for name in ("share/man/man1/clarke-audit.1.gz", "share/bash-completion/completions/clarke", "include/clarke.h", "share/clarke/schema/audit.json",
                 "share/doc/clarke/copyright"):
        expect(os.path.isfile(f"{root}/{name}"), f"no {name}")
    expect(glob.glob(f"{root}/lib/*/libclarke.so.0"), "no library")


with tempfile.TemporaryDirectory() as scratch:
    {"tarball": tarball, "debian": debian}[WHAT](scratch)
finish()
