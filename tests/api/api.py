"""Does docs/api.md hold of the library as it is installed?

    api.py BUILD [LINKER-OPTION...]

Installs BUILD into a folder of its own. There is one header, which compiles alone, as C and, where there is a compiler, as C++; the library exports what
it declares and nothing else. The programs of docs/api.md are compiled by way of pkg-config, run, and print what is shown, or what
`clarke` prints. Wrong use ends in messages; threads get the same answers.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRONG = r"""
#include <clarke.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define FAILS(call, part)                                                          \
  do {                                                                             \
    clarke_error err = {CLARKE_OK, ""};                                            \
    if ((call) != CLARKE_EINPUT || strstr(err.text, part) == NULL) {               \
      printf("line %d: '%s', expected '%s'\n", __LINE__, err.text, part);          \
      return 1;                                                                    \
    }                                                                              \
  } while (0)
#define FINE(call)                                                                 \
  do {                                                                             \
    clarke_error err = {CLARKE_OK, ""};                                            \
    if ((call) != CLARKE_OK) {                                                     \
      printf("line %d: %s\n", __LINE__, err.text);                                 \
      return 1;                                                                    \
    }                                                                              \
  } while (0)
/* A network's answer, by handles of this thread's own. */
static void *
ask(void *unused)
{
  clarke_network *n = NULL;
  clarke_batch *b = NULL;
  clarke_answer *a = NULL;
  char *json = NULL;
  (void)unused;
  if (clarke_network_open(&n, "cases/audit/digits-relu.onnx", NULL) == CLARKE_OK &&
      clarke_batch_open(&b, "cases/audit/digits-binary.npz", NULL) == CLARKE_OK &&
      clarke_network_ask(&a, n, b, NULL) == CLARKE_OK)
    clarke_answer_json(&json, a, NULL);
  clarke_answer_free(a);
  clarke_network_free(n);
  clarke_batch_free(b);
  return json;
}
static int
ask_in_threads(void)
{
  pthread_t thread[4];
  char *text[4], *alone = ask(NULL);
  int wrong = alone == NULL;
  for (int i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, ask, NULL);
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], (void **)&text[i]);
    wrong = wrong || text[i] == NULL || strcmp(text[i], alone) != 0;
    free(text[i]);
  }
  free(alone);
  return wrong;
}
int
main(void)
{
  const char *at[] = {"t=0"};
  clarke_network *n = (clarke_network *)1;
  clarke_batch *b;
  clarke_program *p;
  clarke_answer *a = (clarke_answer *)1, *first;
  double *g = (double *)1;
  char *json, *again;
  size_t size = 1;

  if (strcmp(clarke_version(), CLARKE_VERSION) != 0 || ask_in_threads())
    return 1;
  if (strcmp(clarke_verdict_name(CLARKE_UNDECIDED), "undecided") != 0 || strcmp(clarke_verdict_name((clarke_verdict)99), "unknown") != 0
      || strcmp(clarke_verdict_name((clarke_verdict)-1), "unknown") != 0)
    return 1;
  FAILS(clarke_network_open(&n, "nowhere.onnx", &err), "nowhere.onnx");
  if (n != NULL)
    return 1;
  FINE(clarke_network_open(&n, "cases/audit/lemma2.onnx", &err));
  FINE(clarke_batch_open(&b, "cases/audit/lemma2.npz", &err));
  FAILS(clarke_network_set(n, "colour", "red", &err), "no option 'colour'");
  FAILS(clarke_network_set(n, "exact", "perhaps", &err), "expected yes or no");
  FAILS(clarke_network_set(n, "threads", "0", &err), "no number from 1 to 256");
  FAILS(clarke_network_set(n, "threads", "9x", &err), "no number from 1 to 256");
  FINE(clarke_network_set(n, "loss", "hinge", &err));
  FAILS(clarke_network_check(n, b, &err), "hinge");
  FAILS(clarke_network_ask(&a, n, b, &err), "hinge");
  if (a != NULL)
    return 1;
  FINE(clarke_network_set(n, "loss", NULL, &err));
  FINE(clarke_network_set(n, "wrt", "v", &err));
  FAILS(clarke_network_check(n, b, &err), "v");
  FINE(clarke_network_set(n, "wrt", "w", &err));
  FINE(clarke_network_set(n, "exact", "yes", &err));
  FINE(clarke_network_set(n, "threads", "2", &err));
  FAILS(clarke_network_set(n, "nearest", "0", &err), "no number from 1 on");
  FAILS(clarke_network_set(n, "nearest", "many", &err), "no number from 1 on");
  FINE(clarke_network_set(n, "nearest", "2", &err));
  FINE(clarke_network_set(n, "touched", "yes", &err));
  FINE(clarke_network_check(n, b, &err));
  FAILS(clarke_network_load(n, "nowhere.safetensors", &err), "nowhere.safetensors");
  FINE(clarke_network_ask(&first, n, b, &err));
  FINE(clarke_network_set(n, "exact", NULL, &err));
  FINE(clarke_network_ask(&a, n, b, &err));
  FINE(clarke_answer_json(&json, first, &err));
  FINE(clarke_answer_json(&again, a, &err));
  if (strcmp(json, again) != 0 || strstr(json, "\"touched_kinks\": [") == NULL || strstr(json, "\"nearest\": []") == NULL)
    return 1;
  free(json);
  free(again);
  FAILS(clarke_answer_gradient(&g, &size, a, "v", &err), "no parameter 'v'");
  if (g != NULL || size != 0)
    return 1;
  FAILS(clarke_answer_prove(a, "nowhere/p", &err), "nowhere/p");
  clarke_answer_free(first);
  clarke_answer_free(a);
  clarke_network_free(n);
  clarke_batch_free(b);

  FINE(clarke_program_open(&p, "cases/papers/bolte-relu2.prog", &err));
  FAILS(clarke_program_set(p, "loss", "sum", &err), "no option 'loss'");
  FINE(clarke_program_set(p, "profile", "nobody", &err));
  FAILS(clarke_program_ask(&a, p, at, 1, &err), "no profile 'nobody'");
  FINE(clarke_program_set(p, "profile", "jax", &err));
  FAILS(clarke_program_ask(&a, p, at, 0, &err), "'t'");
  FINE(clarke_program_ask(&a, p, at, 1, &err));
  FAILS(clarke_answer_save_gradient(a, "nowhere/g", &err), "no file of tensors");
  FINE(clarke_answer_gradient(&g, &size, a, "t", &err));
  if (size != 1 || g[0] != 1)
    return 1;
  free(g);
  clarke_answer_free(a);
  clarke_program_free(p);
  clarke_program_free(NULL);
  clarke_answer_free(NULL);
  clarke_network_free(NULL);
  clarke_batch_free(NULL);
  return 0;
}
"""


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def blocks(text, kind):
    """The code blocks of that kind."""
    parts = re.split(r"^```(\w*)\n", text, flags=re.M)  # fences open and close in turn
    return [body for fence, body in zip(parts[1::4], parts[2::4]) if fence == kind]


def declared(header):
    return set(re.findall(r"\b(clarke_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))


def main():
    build, linker = Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "root"
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir", there)
        headers = sorted(there.rglob("*.h"))
        assert [h.name for h in headers] == ["clarke.h"], headers
        library = next(p for p in there.rglob("libclarke.so*") if not p.is_symlink())
        config = next(there.rglob("clarke.pc"))
        program = next(p for p in there.rglob("bin/clarke"))
        env = {**os.environ, "PKG_CONFIG_PATH": str(config.parent), "PKG_CONFIG_SYSROOT_DIR": str(there),
               "LD_LIBRARY_PATH": str(library.parent), "PATH": f"{program.parent}:{os.environ['PATH']}",
               "ASAN_OPTIONS": "detect_leaks=1:exitcode=99"}
        exported = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}
        exported = {name for name in exported if not name.startswith(("__", "_init", "_fini"))}
        assert exported == declared(headers[0].read_text()), exported ^ declared(headers[0].read_text())
        strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        run("cc", "-std=c11", *strict, "-x", "c", headers[0])
        plus = shutil.which("c++") or shutil.which("clang++")
        if plus:
            run(plus, "-std=c++11", *strict, "-x", "c++", headers[0])
        else:
            print("no C++ compiler: as C++ the header is not tried")
        flags = run("pkg-config", "--cflags", "--libs", "clarke", env=env).split()
        assert run("pkg-config", "--modversion", "clarke", env=env).strip() == run(program, "--version").split()[1]

        (Path(folder) / "cases").symlink_to(ROOT / "cases")
        text = (ROOT / "docs/api.md").read_text()
        sources = blocks(text, "c")
        assert len(sources) == 2
        for name, source in zip(("audit", "derive", "wrong"), [*sources, WRONG]):
            (Path(folder) / f"{name}.c").write_text(source)
            run("cc", "-std=c11", "-pthread", "-Wall", "-Wextra", "-Werror", *linker, "-o", name, f"{name}.c", *flags, cwd=folder, env=env)
        shown = [block for block in blocks(text, "") if block.startswith("$ cc")][0].split("\n$ ")
        asked, *expected = shown[1].splitlines()
        assert run(*asked.split(), cwd=folder, env=env) == "\n".join(expected) + "\n"
        checked = shown[2].splitlines()[0].split()
        assert "VERIFIED" in run(*checked, cwd=folder, env=env)
        at = ["cases/papers/bolte-relu2.prog", "--at", "t=0", "--json"]
        assert run("./derive", cwd=folder, env=env) == run(program, "derive", *at, cwd=folder) + "\n"
        run("./wrong", cwd=folder, env=env)
    print("as docs/api.md says")


if __name__ == "__main__":
    main()
