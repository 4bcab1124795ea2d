/* Programs and proofs about them, read by the checker: an input is a program, a line "===", and a proof of p.prog, whose
 * hashes are put right first. A program that the checker gets past, the library reads too. */
#include "checker.h"
#include "mutate.h"
#include "seal.h"
#include "target.h"
#include "program/prog.h"

#include <unistd.h>

MUTATED_AS(mutate_text)

static char folder[] = "/tmp/clarke-fuzz-XXXXXX", program[64];

static void
remove_folder(void)
{
  unlink(program);
  rmdir(folder);
}

static void
write_program(const uint8_t *data, size_t size)
{
  FILE *f;

  if (*program == '\0') {
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(program, sizeof program, "%s/p.prog", folder);
    atexit(remove_folder);
  }
  f = fopen(program, "wb");
  REQUIRE(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

/* The end of the program: "===\n" at the beginning of a line, or the end of the input. */
static size_t
end_of_program(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i + 4 <= size; i++)
    if ((i == 0 || data[i - 1] == '\n') && memcmp(data + i, "===\n", 4) == 0)
      return i;
  return size;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_program(data, size), from = n < size ? n + 4 : n;
  checker_proof what = {NULL, folder};
  checker_answer answer;
  buffer proof;

  write_program(data, n);
  proof = sealed_proof(folder, data + from, size - from);
  what.proof = checker_file(0, proof.data, proof.size);
  answer = checker_run(checker_check, &what);
  REQUIRE(answer.status >= 0 && answer.status <= 3);
  if (answer.status == 0) {
    clarke_code p;
    clarke_error err;

    REQUIRE(strncmp(answer.said, "VERIFIED\n", 9) == 0);
    clarke_code_init(&p);
    if (clarke_prog_parse(&p, data, n, "p.prog", &err) != CLARKE_OK) {
      fprintf(stderr, "the library refuses what the checker verifies: %s\n", err.text);
      abort();
    }
    clarke_code_clear(&p);
  }
  buffer_clear(&proof);
  return 0;
}
