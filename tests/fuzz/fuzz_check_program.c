/* Programs and proofs about them, read by the checker: an input is a program, a line "===", and a proof of p.prog, whose
 * hashes are put right first. A program that the checker gets past, the library reads too. */
#include "beside.h"
#include "mutate.h"
#include "target.h"
#include "program/prog.h"

MUTATED_AS(mutate_text)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_first(data, size);
  clarke_code p;
  clarke_error err;

  folder_write("p.prog", data, n);
  if (checked_beside(data, size, n).status != 0)
    return 0;
  clarke_code_init(&p);
  if (clarke_prog_parse(&p, data, n, "p.prog", &err) != CLARKE_OK) {
    fprintf(stderr, "the library refuses what the checker verifies: %s\n", err.text);
    abort();
  }
  clarke_code_clear(&p);
  return 0;
}
