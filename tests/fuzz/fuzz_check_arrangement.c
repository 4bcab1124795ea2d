/* Arrangements and proofs about them, read by the checker: an input is a matrix, a line "===", and a proof about it as the file V,
 * whose hashes are put right first. What it verifies the library counts alike: a matrix that the checker reads, the
 * library reads too. */
#include "beside.h"
#include "format/table.h"
#include "mutate.h"
#include "region/arrangement.h"
#include "target.h"

MUTATED_AS(mutate_text)

/* "has exactly N region" must be the library's number, of a central arrangement. */
static void
require_count(const char *said, const uint8_t *data, size_t size)
{
  const clarke_sign_visitor visitor = {0};
  clarke_arrangement a;
  clarke_sign_tree tree;
  clarke_table t;
  clarke_error err = {CLARKE_OK, ""};
  char expected[64];

  clarke_table_init(&t);
  REQUIRE(clarke_table_parse(&t, data, size, "V", &err) == CLARKE_OK);
  REQUIRE(clarke_arrangement_init(&a, t.rows, t.columns, t.value, NULL, &err) == CLARKE_OK);
  REQUIRE(clarke_arrangement_enumerate(&tree, &a, &visitor, &err) == CLARKE_OK && tree.complete);
  snprintf(expected, sizeof expected, "has exactly %zu region", clarke_arrangement_count(&a, tree.leaves));
  REQUIRE(strstr(said, expected) != NULL || strstr(said, "The affine") != NULL);
  clarke_arrangement_clear(&a);
  clarke_table_clear(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const size_t n = end_of_first(data, size);
  checker_answer answer;

  folder_write("V", data, n);
  answer = checked_beside(data, size, n);
  if (answer.status == 0 && strstr(answer.said, "Hyperplanes: ") != NULL)
    require_count(answer.said, data, n);
  return 0;
}
