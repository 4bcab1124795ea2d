/* every_byte N DATA PROOF...: every byte of every proof, or one of some N, changed in one drawn way, and spaces made tabs
 * besides: none may be verified. With N 1 each is first verified as it is. Prints the counts. */
#include "check/proof.h"
#include "check/base/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long state = 11;

static unsigned char
draw(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned char)(1 + (state >> 33) % 255);
}

/* 1 to 2 n - 1. */
static size_t
step_of(size_t n)
{
  return n == 1 ? 1 : 1 + (size_t)draw() * (2 * n - 1) / 256;
}

/* The checker's exit status on the bytes, its output thrown away. */
static int
check(const char *path, const char *data, const unsigned char *bytes_, size_t n)
{
  int status, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child;

  if (fd < 0 || write(fd, bytes_, n) != (ssize_t)n || close(fd) != 0)
    abort();
  fflush(stdout);
  child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
      abort();
    clarke_check_proof(path, data);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child)
    abort();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t
load(const char *path, unsigned char **to)
{
  FILE *f = fopen(path, "rb");
  size_t n;

  *to = malloc(1 << 24);
  if (f == NULL || *to == NULL)
    abort();
  n = fread(*to, 1, 1 << 24, f);
  fclose(f);
  return n;
}

int
main(int argc, char **argv)
{
  char path[] = "/tmp/clarke-every-byte-XXXXXX";
  const size_t one_in = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
  size_t tried = 0, accepted = 0, fell = 0;
  int fd = mkstemp(path);

  if (argc < 4 || one_in == 0 || fd < 0)
    return 2;
  close(fd);
  for (int i = 3; i < argc; i++) {
    unsigned char *proof;
    size_t n = load(argv[i], &proof);

    if (one_in == 1 && check(path, argv[2], proof, n) != 0) {
      printf("%s is not verified as it is\n", argv[i]);
      accepted++;
    }
    for (size_t at = step_of(one_in) - 1; at < n; at += step_of(one_in))
      for (int way = 0; way < (proof[at] == ' ' ? 2 : 1); way++) {
        unsigned char old = proof[at];
        int status;

        proof[at] = way == 1 ? '\t' : (unsigned char)(old ^ draw());
        status = check(path, argv[2], proof, n);
        if (status == 0)
          printf("%s: byte %zu changed from %u to %u is verified\n", argv[i], at, old, proof[at]);
        tried++;
        accepted += status == 0;
        fell += status != 0 && status != 1;
        proof[at] = old;
      }
    free(proof);
  }
  unlink(path);
  printf("%d proofs, %zu changes, %zu accepted, %zu ended otherwise than by a refusal\n", argc - 3,
         tried, accepted, fell);
  return accepted == 0 && fell == 0 ? 0 : 1;
}
