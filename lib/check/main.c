/* clarke-check: verifies a proof of docs/proof-format.md, in C and GMP alone. The files beside it do the work. They include
 * nothing from the rest of the library and never search: they read a proof line by line, read the files the statement names,
 * evaluate the network (docs/operators.md) or the program (docs/programs.md), and check each claim where it stands. Values
 * are rationals or, behind a transcendental operator, intervals of rationals, computed when they are asked for; most of the
 * pieces on which they lie are decided without, by integers near them (near.h). */
#include "check/base/limit.h"
#include "check/base/number_memory.h"
#include "check/proof.h"
#include "check/show.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static const char usage[] =
    "Usage: clarke-check PROOF [--data DIR] [--threads N]\n"
    "       clarke-check --show MODEL [BATCH [MODEL BATCH]...]\n"
    "       clarke-check --values MODEL BATCH [MODEL BATCH]...\n"
    "       clarke-check --tape MODEL BATCH [MODEL BATCH]...\n"
    "       clarke-check PROOF --tape [--data DIR]\n"
    "Verifies a proof about what automatic differentiation computes at a network's weights or in a program.\n\n"
    "  --data DIR   look in DIR for the files that the proof names, not in the proof's folder\n"
    "  --threads N  at most N threads (default: as many as processors); the answer is the same\n"
    "  --show       print what is read of the model and the batch, exactly, and check nothing\n"
    "  --values     the same, and the value of each node's output, all samples in one tensor\n"
    "  --tape       print the network's steps in a text that does not depend on how the file states them\n"
    "  --whole-tape the same, with all that stands there as a hash\n"
    "  --limit NAME=N\n"
    "               take inputs that ask for more, or less: docs/formats.md has the names\n"
    "  --help       show this help and exit\n"
    "  --version    show the version and exit\n\n"
    "Exit status: 0 verified, 1 not, 2 when a file cannot be read or the command is wrong.\n"
    "Example: clarke-check lemma2.proof --data cases/audit\n";

/* The work in a child, whose memory is limited. */
static int
check(void (*work)(const char *, const char *), const char *path, const char *other)
{
  int status;
  pid_t child = fork();
  if (child == 0) {
#if !defined __SANITIZE_ADDRESS__ && !__has_feature(address_sanitizer)
    limit_memory();
#endif
    number_memory_begin();
    work(path, other);
    _exit(output_arrived() ? VERIFIED : REFUSED);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) {
    perror("clarke-check: cannot run the check");
    return REFUSED;
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  if (WTERMSIG(status) == SIGPIPE) /* nobody reads on: no failure to tell of, and no answer */
    raise(SIGPIPE);
  fprintf(stderr, "clarke-check: cannot check: ended by signal %d (%s)\n", WTERMSIG(status),
          strsignal(WTERMSIG(status)));
  return REFUSED;
}

static void
print_path(const char *path)
{
  putchar(' ');
  for (; *path != '\0'; path++)
    putchar(printable(*path));
}

/* The option that begins at argv[*i], and its value in *value, if it is this one. */
static bool
is_option(const char *name, char **argv, int argc, int *i, const char **value)
{
  size_t n = strlen(name);
  if (strncmp(argv[*i], name, n) != 0 || (argv[*i][n] != '=' && argv[*i][n] != '\0'))
    return false;
  if (argv[*i][n] == '\0' && *i + 1 == argc)
    return false;
  *value = argv[*i][n] == '=' ? argv[*i] + n + 1 : argv[++*i];
  return true;
}

/* Prints what is asked of a model and its batch, which may be NULL. */
typedef void printer(const char *model_path, const char *batch_path);

/* Shows models, each with the batch after it, and says which are refused. */
static int
show(char **paths, size_t n, printer *print)
{
  int worst = VERIFIED;
  for (size_t i = 0; i < n; i += 2) {
    const char *batch = i + 1 < n ? paths[i + 1] : NULL;
    int result = check(print, paths[i], batch);
    if (result != VERIFIED) {
      printf("refused");
      print_path(paths[i]);
      if (batch != NULL)
        print_path(batch);
      putchar('\n');
    }
    if (!output_arrived() || result != VERIFIED) /* flushed in any case: the next child has a copy */
      worst = REFUSED;
  }
  return worst;
}

/* What the command line asks for. */
typedef struct {
  const char *proof, *data;
  printer *shows, *shows_of_proof; /* NULL: it checks a proof */
  bool wrong;
  int rest; /* of argv, what to show */
  long threads;
} request;

static int
print_and_end(const char *text)
{
  fputs(text, stdout);
  return output_arrived() ? VERIFIED : REFUSED;
}

static void
read_limit(request *r, const char *setting)
{
  if (limit_set(setting))
    return;
  r->wrong = true;
  fprintf(stderr, "clarke-check: --limit NAME=N: no such limit, or no number that it can be; the names are");
  for (size_t i = 0; limit_name(i) != NULL; i++)
    fprintf(stderr, " %s", limit_name(i));
  fputs("\n", stderr);
}

/* What the option prints of each pair; NULL: it is another option. */
static printer *
what_shows(const char *option)
{
  return strcmp(option, "--show") == 0         ? clarke_show
         : strcmp(option, "--values") == 0     ? clarke_show_values
         : strcmp(option, "--tape") == 0       ? clarke_show_tape
         : strcmp(option, "--whole-tape") == 0 ? clarke_show_whole_tape
                                               : NULL;
}

/* What the option prints of a proof that stands before it; NULL: it is another option. */
static printer *
what_shows_of_proof(const char *option)
{
  return strcmp(option, "--tape") == 0         ? clarke_show_tape_of
         : strcmp(option, "--whole-tape") == 0 ? clarke_show_whole_tape_of
                                               : NULL;
}

/* Options, and the proof. */
static request
read_arguments(int argc, char **argv)
{
  request r = {.threads = sysconf(_SC_NPROCESSORS_ONLN)};
  const char *value;
  for (int i = 1; i < argc && r.shows == NULL; i++) {
    if (is_option("--data", argv, argc, &i, &r.data))
      continue;
    if (is_option("--limit", argv, argc, &i, &value))
      read_limit(&r, value);
    else if (is_option("--threads", argv, argc, &i, &value))
      r.wrong = r.wrong || (r.threads = atol(value)) < 1;
    else if (what_shows_of_proof(argv[i]) != NULL && r.proof != NULL)
      r.shows_of_proof = what_shows_of_proof(argv[i]);
    else if (what_shows(argv[i]) != NULL && i + 1 < argc) {
      r.shows = what_shows(argv[i]);
      r.rest = i + 1;
    } else if (argv[i][0] != '-' && r.proof == NULL)
      r.proof = argv[i];
    else
      r.wrong = true;
  }
  r.wrong = r.wrong || (r.proof == NULL) != (r.shows != NULL);
  return r;
}

int
main(int argc, char **argv)
{
  signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is an error of writing */
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0)
      return print_and_end(usage);
    if (strcmp(argv[i], "--version") == 0)
      return print_and_end("clarke-check (clarke) 0.1.0\n");
  }
  request r = read_arguments(argc, argv);
  if (r.wrong) {
    fputs(usage, stderr);
    return REFUSED;
  }
  limit_require_stack();
  session_set_threads(r.threads < 1 ? 1 : (size_t)r.threads);
  if (r.shows != NULL)
    return show(argv + r.rest, (size_t)(argc - r.rest), r.shows);
  if (r.shows_of_proof != NULL)
    return check(r.shows_of_proof, r.proof, r.data);
  int result = UNDECIDED;
  for (; result == UNDECIDED; session_set_bits(2 * session_bits))
    result = check(clarke_check_proof, r.proof, r.data);
  return result;
}
