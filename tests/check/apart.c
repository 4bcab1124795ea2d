#include "apart.h"
#include "heard.h"
#include "check/proof.h"

static int
check_once(const char *proof, const char *data, unsigned long bits, size_t threads, char *said, size_t size)
{
  int ends[2];
  pid_t child = fork_heard(ends);

  if (child == 0) {
    session_set_bits(bits);
    session_set_threads(threads);
    clarke_check_proof(proof, data);
    fflush(stdout);
    _exit(VERIFIED);
  }
  return heard(child, ends, proof, said, size);
}

int
check_apart(const char *proof, const char *data, size_t threads, char *said, size_t size)
{
  int status = UNDECIDED;

  for (unsigned long bits = session_bits; status == UNDECIDED; bits *= 2)
    status = check_once(proof, data, bits, threads, said, size);
  return status;
}
