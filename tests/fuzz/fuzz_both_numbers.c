/* A file of numbers read by the library and by the checker: what the checker reads, the library reads alike. (It reads more:
 * what is deflated, and other layouts of safetensors.) */
#include <stdio.h> /* before gmp.h, for its printing */

#include "checker.h"
#include "mutate.h"
#include "target.h"
#include "format/npy.h"
#include "format/npz.h"
#include "format/safetensors.h"

#include <gmp.h>

MUTATED_AS(mutate_numbers)

static const char *const type_names[] = {
  [CLARKE_F16] = "F16", [CLARKE_BF16] = "BF16", [CLARKE_F32] = "F32", [CLARKE_F64] = "F64", [CLARKE_I8] = "I8",
  [CLARKE_I16] = "I16", [CLARKE_I32] = "I32",   [CLARKE_I64] = "I64", [CLARKE_U8] = "U8",   [CLARKE_U16] = "U16",
  [CLARKE_U32] = "U32", [CLARKE_U64] = "U64",   [CLARKE_BOOL] = "BOOL",
};

static void
print_tensor(FILE *to, const clarke_tensor *t)
{
  mpq_t q;

  fprintf(to, "%s %s [", t->name, type_names[t->dtype]);
  for (size_t k = 0; k < t->rank; k++)
    fprintf(to, "%zu,", t->dims[k]);
  fprintf(to, "]");
  mpq_init(q);
  for (size_t i = 0; i < t->count; i++) {
    if (t->real != NULL)
      mpq_set_d(q, t->real[i]);
    else
      mpq_set_si(q, t->integer[i], 1);
    fprintf(to, " ");
    mpq_out_str(to, 10, q);
  }
  mpq_clear(q);
  fprintf(to, "\n");
}

static clarke_status
parse(clarke_tensors *ts, const uint8_t *data, size_t size)
{
  bool stored = true;
  clarke_status status;

  if (size >= 2 && memcmp(data, "PK", 2) == 0)
    return clarke_npz_parse(ts, &stored, data, size, "x", NULL);
  if (size < 6 || memcmp(data, "\x93NUMPY", 6) != 0)
    return clarke_safetensors_parse(ts, data, size, "x", NULL);
  ts->tensor = calloc(1, sizeof *ts->tensor);
  REQUIRE(ts->tensor != NULL);
  ts->n = 1;
  clarke_tensor_init(&ts->tensor[0]);
  status = clarke_npy_parse(&ts->tensor[0], data, size, "x", NULL);
  if (status == CLARKE_OK) {
    free(ts->tensor[0].name);
    ts->tensor[0].name = strdup("x");
  }
  return status;
}

/* Are all lines of the two texts the same, in any order? Tensors come in the file's order, or by name. */
static bool
same_lines(const char *a, const char *b)
{
  if (strlen(a) != strlen(b))
    return false;
  for (const char *end; *a != '\0'; a = end + 1) {
    const char *at = b;

    end = strchr(a, '\n');
    while (at != NULL && strncmp(at, a, (size_t)(end - a) + 1) != 0)
      at = strchr(at, '\n') != NULL && strchr(at, '\n')[1] != '\0' ? strchr(at, '\n') + 1 : NULL;
    if (at == NULL)
      return false;
  }
  return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const checker_bytes file = {data, size};
  clarke_tensors ts;
  size_t n;
  char *text = NULL;
  FILE *out;
  checker_answer answer = checker_run(checker_tensors, &file);

  if (answer.status != 0)
    return 0;
  out = open_memstream(&text, &n);
  REQUIRE(out != NULL);
  clarke_tensors_init(&ts);
  REQUIRE(parse(&ts, data, size) == CLARKE_OK);
  for (size_t i = 0; i < ts.n; i++)
    print_tensor(out, &ts.tensor[i]);
  REQUIRE(fclose(out) == 0);
  REQUIRE(same_lines(text, answer.said));
  clarke_tensors_clear(&ts);
  free(text);
  return 0;
}
