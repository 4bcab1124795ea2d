/* clarke COMMAND [OPTION...] FILE... */
#include "command.h"
#include "base/limit.h"
#include "process.h"
#include "session/audit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *question;
} commands[] = {
  {"derive", clarke_command_derive,
   "a program or a small network at a point: value, AD's output, generalized derivatives"},
  {"audit", clarke_command_audit,
   "a checkpoint and a minibatch: is AD's gradient of the loss a generalized derivative?"},
  {"patterns", clarke_command_patterns,
   "a piecewise linear network: all its regions; an arrangement of hyperplanes: all sign vectors"},
  {"certify", clarke_command_certify,
   "a recorded step, node by node: is it exact but for rounding? Tensor cores' results, bit for bit"},
  {"check-point", clarke_command_check_point,
   "a verifier's counterexample: is it one, exactly, and in float32?"},
  {"cost", clarke_command_cost,
   "a program, a network, a step: how many operations, and how many more their derivatives take"},
  {"encode", clarke_command_encode,
   "a formula as a network: is it differentiable at 0, can the formula be satisfied?"},
  {"step", clarke_command_step,
   "a step of an optimizer: what its rule makes of a state and a gradient, exactly"},
  {"sweep", clarke_command_sweep,
   "gradients under several profiles, over checkpoints and minibatches: how far apart, and why?"},
  {"merge", clarke_command_merge,
   "the parts of a sweep, as one file"},
  {"reproduce", clarke_command_reproduce,
   "every example of the papers: claimed, computed, agreed or not"},
  {"report", clarke_command_report,
   "what a command printed with --json, as one page of HTML"},
  {"explain", clarke_command_explain,
   "what words of the reports mean"},
  {"profile", clarke_command_profile,
   "what frameworks take for derivatives at kinks, by version"},
  {"diff", clarke_command_diff,
   "two checkpoints, profiles, records or reports: where they differ"},
  {"selftest", clarke_command_selftest,
   "small questions whose answers are known, and their proofs: is this build right?"},
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void
usage(FILE *out)
{
  fputs("Usage: clarke COMMAND [OPTION...] FILE...\n"
        "Tells, with proof, what automatic differentiation computes where a network or a\n"
        "program is not differentiable.\n\nCommands:\n", out);
  for (size_t i = 0; i < N_COMMANDS; i++)
    fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].question);
  fputs("\n  clarke COMMAND --help   what a command takes, with an example\n"
        "  clarke --version\n\n"
        "Exit status: 0 the property is proved to hold, 1 proved not to, 2 the question could not\n"
        "be asked, 3 undecided.\n", out);
}

/* Messages and reports name files by lines of their own; a name of several lines could say what we do not. */
static bool
holds_line_end(int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strchr(argv[i], '\n') != NULL) {
      fprintf(stderr, "clarke: argument %d holds the end of a line: no file or name may\n", i);
      return true;
    }
  return false;
}

/* Before the command line is read, which may be wrong anywhere; argp takes what begins an option for it. */
static bool
wants_json(int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "-j") == 0 || (strncmp(argv[i], "--j", 3) == 0 && strncmp("--json", argv[i], strlen(argv[i])) == 0))
      return true;
  return false;
}

/* argp's help asserts what it allocates. */
static void
abandoned(int number)
{
  (void)number;
  _exit(EXIT_NOT_ASKED);
}

void
clarke_read_arguments(void *to, const struct argp *argp, char *name, int argc, char **argv, unsigned flags)
{
  error_t why;

  argp_err_exit_status = EXIT_NOT_ASKED;
  argv[0] = name;
  signal(SIGABRT, abandoned);
  clarke_process_now(CLARKE_PROCESS_READS);
  why = argp_parse(argp, argc, argv, flags, NULL, to);
  signal(SIGABRT, SIG_DFL);
  clarke_process_now(CLARKE_PROCESS_WORKS);
  if (why == 0)
    return;
  clarke_process_now(CLARKE_PROCESS_ENDS);
  fprintf(stderr, "%s: the command line cannot be read: %s\n", name, why == ENOMEM ? "out of memory" : strerror(why));
  exit(EXIT_NOT_ASKED);
}

static void
take_limit(const char *arg, const struct argp_state *state)
{
  clarke_error err = { CLARKE_OK, "" };

  if (clarke_limit_set(arg, &err) != CLARKE_OK)
    argp_error(state, "%s", err.text);
}

int
clarke_verdict_status(clarke_verdict verdict)
{
  return verdict == CLARKE_UNDECIDED ? EXIT_UNDECIDED : verdict == CLARKE_NOT_IN_CLARKE ? EXIT_FAILS : EXIT_HOLDS;
}

/* A file that could not be read, what is proved wrong, what is not decided. */
int
clarke_status_worse(int a, int b)
{
  static const int rank[] = {[EXIT_HOLDS] = 0, [EXIT_UNDECIDED] = 1, [EXIT_FAILS] = 2, [EXIT_NOT_ASKED] = 3};

  return rank[a] > rank[b] ? a : b;
}

size_t
clarke_processors(void)
{
  long n = sysconf(_SC_NPROCESSORS_ONLN);

  return n < 1 ? 1 : n > CLARKE_MOST_THREADS ? CLARKE_MOST_THREADS : (size_t)n;
}

size_t
clarke_read_threads(const char *text, const struct argp_state *state)
{
  size_t n = 1;

  if (!clarke_threads_parse(&n, text))
    argp_error(state, "--threads: '%s' is no number from 1 to %d", text, CLARKE_MOST_THREADS);
  return n;
}

size_t
clarke_read_step(const char *text, const struct argp_state *state)
{
  char *end;
  const unsigned long n = strtoul(text, &end, 10);

  if (*text < '0' || *text > '9' || *end != '\0')
    argp_error(state, "--step: '%s' is no number", text);
  return n;
}

bool
clarke_take_shared(int key, const char *arg, const struct argp_state *state, const clarke_shared_options *to)
{
  const char **text = key == 'P' ? to->profile : key == 'w' ? to->wrt : key == 'p' ? to->proof
                      : key == CLARKE_OPTION_OUTPUT ? to->output : NULL;

  if (arg != NULL && *arg == '\0')
    argp_error(state, "an option's value or a file's name is empty");
  if (key == CLARKE_OPTION_LIMIT)
    take_limit(arg, state);
  else if (key == 'j' && to->json != NULL)
    *to->json = true;
  else if (text != NULL)
    *text = arg;
  else
    return false;
  return true;
}

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
/* The kernel may give the heap's first pages in large ones: one fault in the place of hundreds. */
static void
ask_for_large_pages(void)
{
  const uintptr_t page = (uintptr_t)1 << 21;
  const size_t size = (size_t)1 << 26;
  void *first = malloc(size);
  const uintptr_t from = ((uintptr_t)first + page - 1) / page * page, end = ((uintptr_t)first + size) / page * page;

  if (first != NULL)
    madvise((void *)from, end - from, MADV_HUGEPAGE);
  free(first); /* the heap keeps it */
}
#endif

static void
keep_memory(void)
{
#ifdef __GLIBC__
  /* glibc would hand each large matrix back to the kernel and fault its pages in again for the next. */
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#ifdef MADV_HUGEPAGE
  ask_for_large_pages();
#endif
#endif
}

int
main(int argc, char **argv)
{
  clarke_process_begin();
  if (wants_json(argc, argv))
    clarke_process_answers_in_json();
  if (holds_line_end(argc, argv))
    return EXIT_NOT_ASKED;
  keep_memory();
  if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
    usage(stdout);
    return EXIT_HOLDS;
  }
  if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
    printf("clarke %s\n", clarke_version());
    return EXIT_HOLDS;
  }
  for (size_t i = 0; argc >= 2 && i < N_COMMANDS; i++)
    if (strcmp(argv[1], commands[i].name) == 0) {
      int answer;

      clarke_process_computes();
      answer = commands[i].run(argc - 1, argv + 1);
      clarke_process_now(CLARKE_PROCESS_ENDS);
      return answer;
    }
  if (argc >= 2)
    fprintf(stderr, "clarke: no command '%s'\n", argv[1]);
  usage(stderr);
  return EXIT_NOT_ASKED;
}
