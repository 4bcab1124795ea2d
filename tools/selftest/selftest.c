/* clarke selftest: do this build, its libraries and clarke-check answer small questions as they must? */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "base/output.h"
#include "base/text.h"
#include "command.h"
#include "session/derive.h"
#include "summary.h"

#include <errno.h>
#include <fcntl.h>
#include <flint/flint.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A function, and what is known of it by hand. */
static const struct {
  const char *name, *program, *at, *ad;
  clarke_verdict verdict;
} known[] = {
  {"relu at 0", "input x\noutput relu(x)\n", "x=0", "0", CLARKE_IN_BOULIGAND},
  {"abs at 0", "input x\noutput abs(x)\n", "x=0", "0", CLARKE_IN_CLARKE},
  {"zero, of Bolte and Pauwels", "input x\noutput relu(-x) + x - relu(x)\n", "x=0", "1", CLARKE_NOT_IN_CLARKE},
  {"a mean of two largest", "input x\noutput max{mean}(3*x, x)\n", "x=0", "2", CLARKE_IN_CLARKE},
  {"a smooth function", "input x\noutput exp(x*x) + x/3\n", "x=0", "1/3", CLARKE_IN_BOULIGAND},
  {"a jump", "input x\noutput if x > 0 then 1 else 0\n", "x=0", "0", CLARKE_UNDECIDED},
};

#define N_KNOWN (sizeof known / sizeof *known)

/* A place for files, and the checker. */
typedef struct {
  char folder[PATH_MAX], program[PATH_MAX], proof[PATH_MAX], checker[PATH_MAX];
} place;

static const struct argp_option options[] = {CLARKE_OPTION_OF_LIMIT, {NULL, 0, NULL, 0, NULL, 0}};

static char doc[] = "Asks small questions whose answers are known, and writes their proofs to a folder of its own. It has clarke-check, which lies "
                    "beside clarke or on the PATH, verify them, and sees that it refuses a changed one."
                    "\vExample:\n"
                    "  clarke selftest\n\n"
                    "Exit status: 0 all is as it must be, 1 something is not, 2 nothing could be asked.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  const clarke_shared_options none = {.json = NULL};

  if (clarke_take_shared(key, arg, state, &none))
    return 0;
  if (key == ARGP_KEY_ARG)
    argp_error(state, "it takes no files");
  return ARGP_ERR_UNKNOWN;
}

/* --- files ------------------------------------------------------------------------------------ */

static clarke_status
write_text(const char *path, const char *text, size_t n, clarke_error *err)
{
  clarke_output o;
  clarke_status status = clarke_output_open(&o, path, err);

  if (status != CLARKE_OK)
    return status;
  fwrite(text, 1, n, o.to);
  return clarke_output_close(&o, CLARKE_OK, path, err);
}

static clarke_status
make_place(place *p, clarke_error *err)
{
  const char *above = getenv("TMPDIR");
  ssize_t n = readlink("/proc/self/exe", p->checker, sizeof p->checker - sizeof "-check");

  snprintf(p->folder, sizeof p->folder - 16, "%s/clarke-XXXXXX", above != NULL && *above != '\0' ? above : "/tmp");
  if (mkdtemp(p->folder) == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no folder can be made there: %s", p->folder, strerror(errno));
  snprintf(p->program, sizeof p->program, "%.*s/a.prog", PATH_MAX - 16, p->folder);
  snprintf(p->proof, sizeof p->proof, "%.*s/proof", PATH_MAX - 16, p->folder);
  p->checker[n > 0 ? n : 0] = '\0';
  if (n > 0)
    strcat(p->checker, "-check");
  if (access(p->checker, X_OK) != 0)
    strcpy(p->checker, "clarke-check"); /* on the PATH */
  return CLARKE_OK;
}

static void
leave_place(const place *p)
{
  unlink(p->program);
  unlink(p->proof);
  rmdir(p->folder);
}

/* Its exit status; -1: it did not run. What it prints is not looked at. */
static int
check(const place *p)
{
  char *const words[] = {(char *)p->checker, (char *)p->proof, NULL};
  posix_spawn_file_actions_t actions;
  int status = -1, failed = posix_spawn_file_actions_init(&actions);
  pid_t pid;

  if (failed != 0)
    return -1;
  for (int fd = 1; fd <= 2; fd++)
    failed |= posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  if (failed == 0 && posix_spawnp(&pid, p->checker, &actions, NULL, words, environ) == 0)
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      continue;
  posix_spawn_file_actions_destroy(&actions);
  return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- questions -------------------------------------------------------------------------------- */

/* One more line in the report: what is wrong, or ok. */
static bool
tell(FILE *to, const char *name, const char *wrong)
{
  fprintf(to, "%-7s %s%s%s\n", wrong == NULL ? "ok" : "WRONG", name, wrong == NULL ? "" : ": ", wrong == NULL ? "" : wrong);
  return wrong == NULL;
}

/* A changed proof: the number that AD is said to return. */
static const char *
try_changed(const place *p, clarke_error *err)
{
  static const char before[] = "verdict ";
  clarke_file file = {0};
  const char *wrong = NULL;
  unsigned char *at = NULL;

  if (clarke_file_read(&file, p->proof, err) != CLARKE_OK)
    return err->text;
  at = memmem(file.data, file.size, before, strlen(before));
  if (at == NULL)
    wrong = "the proof states no verdict";
  else {
    at[strlen(before)] ^= 1;
    unlink(p->proof);
    if (write_text(p->proof, (const char *)file.data, file.size, err) != CLARKE_OK)
      wrong = err->text;
    else if (check(p) == 0)
      wrong = "clarke-check verifies a changed proof";
  }
  clarke_file_clear(&file);
  return wrong;
}

static const char *
try_proof(const clarke_derive_session *s, const clarke_derivation *d, const place *p, clarke_error *err)
{
  int status;

  if (clarke_derive_prove(s, d, p->proof, err) != CLARKE_OK)
    return err->text;
  status = check(p);
  return status < 0   ? "clarke-check cannot be run: it is not beside clarke, nor on the PATH"
         : status > 0 ? "clarke-check does not verify the proof"
                      : try_changed(p, err);
}

static const char *
try_answer(clarke_derive_session *s, clarke_derivation *d, size_t i, const place *p, clarke_error *err)
{
  clarke_derive_text t;
  const char *wrong = NULL;

  clarke_derive_text_init(&t);
  if (clarke_derive_ask(d, s, err) != CLARKE_OK || clarke_derive_text_fill(&t, s, d, err) != CLARKE_OK)
    wrong = err->text;
  else if (d->verdict != known[i].verdict)
    wrong = "another verdict";
  else if (!t.ad.known || strcmp(t.ad.text[0], known[i].ad) != 0)
    wrong = "another derivative";
  else if (d->verdict != CLARKE_UNDECIDED)
    wrong = try_proof(s, d, p, err);
  clarke_derive_text_clear(&t);
  return wrong;
}

static bool
try_one(FILE *to, size_t i, const place *p)
{
  const char *const at[] = {known[i].at};
  clarke_derive_request ask = {.path = p->program, .at = at, .n_at = 1};
  clarke_derive_session s;
  clarke_derivation d;
  clarke_file file = {0};
  clarke_error err = {CLARKE_OK, ""};
  const char *wrong = NULL;
  bool right;

  clarke_derive_session_init(&s);
  clarke_derivation_init(&d);
  ask.file = &file;
  if (write_text(p->program, known[i].program, strlen(known[i].program), &err) != CLARKE_OK
      || clarke_file_read(&file, p->program, &err) != CLARKE_OK || clarke_derive_session_read(&s, &ask, &err) != CLARKE_OK
      || clarke_derive_point(&s, ask.at, ask.n_at, CLARKE_NONE, &err) != CLARKE_OK)
    wrong = err.text;
  else
    wrong = try_answer(&s, &d, i, p, &err);
  right = tell(to, known[i].name, wrong);
  clarke_derivation_clear(&d);
  clarke_derive_session_clear(&s);
  clarke_file_clear(&file);
  return right;
}

/* The answers' lines are behind the three. */
static clarke_status
try_all(size_t *right, const place *p, clarke_error *err)
{
  clarke_text lines;
  clarke_summary s = {0};
  clarke_status status = clarke_text_open(&lines, err);

  for (size_t i = 0; i < N_KNOWN && status == CLARKE_OK; i++)
    *right += try_one(lines.to, i, p);
  if (status == CLARKE_OK)
    status = clarke_text_close(&lines, status, err);
  if (status == CLARKE_OK)
    status = clarke_summary_begin(&s, err);
  if (status == CLARKE_OK) {
    fputs("Is this build right? Small questions whose answers are known, and their proofs.", s.asked.to);
    fprintf(s.answer.to, "%s: %zu of %zu answers are what they must be.", *right == N_KNOWN ? "Yes" : "No", *right, N_KNOWN);
    fputs(*right == N_KNOWN ? "Nothing needs doing." : "Do not use it. Build it anew, and run its tests: sh tests/run.", s.next.to);
    status = clarke_summary_tell(&s, status, err);
  }
  if (status == CLARKE_OK)
    fputs(lines.text, stdout);
  clarke_text_clear(&lines);
  return status;
}

int
clarke_command_selftest(int argc, char **argv)
{
  static char name[] = "clarke selftest";
  struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;
  size_t right = 0;
  place p;

  clarke_read_arguments(NULL, &argp, name, argc, argv, 0);
  if (make_place(&p, &err) != CLARKE_OK) {
    fprintf(stderr, "clarke selftest: %s\n", err.text);
    return EXIT_NOT_ASKED;
  }
  status = try_all(&right, &p, &err);
  leave_place(&p);
  flint_cleanup_master();
  if (status != CLARKE_OK) {
    fprintf(stderr, "clarke selftest: %s\n", err.text);
    return EXIT_NOT_ASKED;
  }
  return right == N_KNOWN ? EXIT_HOLDS : EXIT_FAILS;
}
