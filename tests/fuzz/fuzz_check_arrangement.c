/* Arrangements and proofs about them, read by the checker: an input is a matrix, a line "===", and a proof about it as the file V,
 * whose hashes are put right first. What it verifies the library counts alike: a matrix that the checker reads, the
 * library reads too. */
#include "checker.h"
#include "format/table.h"
#include "mutate.h"
#include "region/arrangement.h"
#include "seal.h"
#include "target.h"

#include <unistd.h>

MUTATED_AS(mutate_text)

static char folder[] = "/tmp/clarke-fuzz-XXXXXX", matrix[64];

static void
remove_folder(void)
{
  unlink(matrix);
  rmdir(folder);
}

static void
write_matrix(const uint8_t *data, size_t size)
{
  FILE *f;

  if (*matrix == '\0') {
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(matrix, sizeof matrix, "%s/V", folder);
    atexit(remove_folder);
  }
  f = fopen(matrix, "wb");
  REQUIRE(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

/* The end of the matrix: "===\n" at the beginning of a line, or the end of the input. */
static size_t
end_of_matrix(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i + 4 <= size; i++)
    if ((i == 0 || data[i - 1] == '\n') && memcmp(data + i, "===\n", 4) == 0)
      return i;
  return size;
}

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
  const size_t n = end_of_matrix(data, size), from = n < size ? n + 4 : n;
  checker_proof what = {NULL, folder};
  checker_answer answer;
  buffer proof;

  write_matrix(data, n);
  proof = sealed_proof(folder, data + from, size - from);
  what.proof = checker_file(0, proof.data, proof.size);
  answer = checker_run(checker_check, &what);
  REQUIRE(answer.status >= 0 && answer.status <= 3);
  if (answer.status == 0) {
    REQUIRE(strncmp(answer.said, "VERIFIED\n", 9) == 0);
    if (strstr(answer.said, "Hyperplanes: ") != NULL)
      require_count(answer.said, data, n);
  }
  buffer_clear(&proof);
  return 0;
}
