/* Proofs about networks, of models and batches that are in tests/check/data. Hashes are put right first, so that the evidence is
 * read. The target holds that the checker ends as it says it does; what it may verify the forger's tests hold. */
#include "checker.h"
#include "mutate.h"
#include "seal.h"
#include "target.h"

MUTATED_AS(mutate_text)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  buffer proof = sealed_proof(CASES, data, size);
  const checker_proof what = {checker_file(0, proof.data, proof.size), CASES};
  const checker_answer answer = checker_run(checker_check, &what);

  REQUIRE(answer.status >= 0 && answer.status <= 3);
  REQUIRE(answer.status != 0 || strncmp(answer.said, "VERIFIED\n", 9) == 0);
  buffer_clear(&proof);
  return 0;
}
