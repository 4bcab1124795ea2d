/* clarke-check: verifies a proof of docs/proof-format.md. The work is in lib/proof/kernel. */
#include "../lib/proof/kernel/kernel.h"

#include <signal.h>
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
    "Verifies a proof about what automatic differentiation computes at a network's weights or in a program.\n\n"
    "  --data DIR   look in DIR for the files that the proof names, not in the proof's folder\n"
    "  --threads N  at most N threads (default: as many as processors); the answer is the same\n"
    "  --show       print what is read of the model and the batch, exactly, and check nothing\n"
    "  --help       show this help and exit\n"
    "  --version    show the version and exit\n\n"
    "Exit status: 0 verified, 1 not, 2 when a file cannot be read or the command is wrong.\n"
    "Example: clarke-check lemma2.proof --data cases/audit\n";

/* GMP ends the process when it gets no memory; so that this is said in our words: */
static void *
allocate_number(size_t size)
{
  return allocate(size, 1);
}

static void *
reallocate_number(void *old, size_t before, size_t size)
{
  void *p = realloc(old, size);
  (void)before;
  expect(p != NULL, "out of memory");
  return p;
}

static void
free_number(void *p, size_t size)
{
  (void)size;
  free(p);
}

/* The work in a child with at most 16 GiB. */
static int
check(void (*work)(const char *, const char *), const char *path, const char *other)
{
  int status;
  pid_t child = fork();
  if (child == 0) {
#if !defined __SANITIZE_ADDRESS__ && !__has_feature(address_sanitizer)
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)16 << 30, (rlim_t)16 << 30});
#endif
    mp_set_memory_functions(allocate_number, reallocate_number, free_number);
    work(path, other);
    if (fflush(stdout) == 0)
      _exit(VERIFIED);
    fprintf(stderr, "clarke-check: standard output cannot be written\n");
    _exit(REFUSED);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) {
    perror("clarke-check: cannot run the check");
    return REFUSED;
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
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

/* Shows models, each with the batch after it, and says which are refused. */
static int
show(char **paths, size_t n)
{
  int worst = VERIFIED;
  for (size_t i = 0; i < n; i += 2) {
    const char *batch = i + 1 < n ? paths[i + 1] : NULL;
    int result = check(clarke_show, paths[i], batch);
    if (result != VERIFIED) {
      printf("refused");
      print_path(paths[i]);
      if (batch != NULL)
        print_path(batch);
      putchar('\n');
    }
    if (fflush(stdout) != 0 || result != VERIFIED) /* flushed in any case: the next child has a copy */
      worst = REFUSED;
  }
  return worst;
}

int
main(int argc, char **argv)
{
  signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is an error of writing */
  if (argc > 2 && strcmp(argv[1], "--show") == 0)
    return show(argv + 2, (size_t)argc - 2);
  const char *proof = NULL, *data = NULL;
  int result = UNDECIDED;
  bool wrong = false;
  long threads = sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 1; i < argc; i++) {
    bool help = strcmp(argv[i], "--help") == 0;
    if (help || strcmp(argv[i], "--version") == 0)
      return fputs(help ? usage : "clarke-check (clarke) 0.1.0\n", stdout) == EOF;
    if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
      data = argv[++i];
    else if (strncmp(argv[i], "--data=", 7) == 0)
      data = argv[i] + 7;
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      wrong = wrong || (threads = atol(argv[++i])) < 1;
    else if (strncmp(argv[i], "--threads=", 10) == 0)
      wrong = wrong || (threads = atol(argv[i] + 10)) < 1;
    else if (argv[i][0] != '-' && proof == NULL)
      proof = argv[i];
    else
      wrong = true;
  }
  if (wrong || proof == NULL) {
    fputs(usage, stderr);
    return REFUSED;
  }
  session_threads = threads < 1 ? 1 : threads < MAX_THREADS ? (size_t)threads : MAX_THREADS;
  for (; result == UNDECIDED; session_bits *= 2)
    result = check(clarke_check_proof, proof, data);
  return result;
}
