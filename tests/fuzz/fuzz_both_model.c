/* One model read by the library and by the checker, each with a batch that fits what the model declares: both refuse it, or
 * both read the same. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "../interop/reading.h"
#include "buffer.h"
#include "checker.h"
#include "mutate.h"
#include "target.h"
#include "format/file.h"
#include "format/onnx.h"

MUTATED_AS(mutate_message)

/* What the library reads and the checker does not (docs/checker.md), by what the checker says. */
static const char *const one_sided[] = {
  "auto_pad with pads",   /* pads of zeros beside auto_pad */
  "noop_with_empty_axes", /* a ReduceMean of no axes that changes nothing */
  "of constants alone",   /* an operator of constants alone */
  "--limit ", /* limits of its own */
};

/* The shape of the input that no initializer defines; a dimension that is open is 2. */
static size_t
shape_of_input(size_t *dims, const uint8_t *data, size_t size)
{
  clarke_model m;
  size_t rank = 2;

  dims[0] = 2;
  dims[1] = 4;
  clarke_model_init(&m);
  if (clarke_onnx_parse(&m, data, size, "x.onnx", NULL) == CLARKE_OK)
    for (size_t i = 0; i < m.n_inputs; i++) {
      bool given = false;

      for (size_t k = 0; k < m.n_tensors; k++)
        given = given || strcmp(m.tensors[k].name, m.inputs[i].name) == 0;
      if (given || !m.inputs[i].shaped || m.inputs[i].rank == 0)
        continue;
      rank = m.inputs[i].rank;
      for (size_t k = 0; k < rank; k++)
        dims[k] = m.inputs[i].dims[k] > 0 && m.inputs[i].dims[k] <= 64 ? (size_t)m.inputs[i].dims[k] : 2;
    }
  clarke_model_clear(&m);
  return rank;
}

static buffer
batch_of(size_t rank, const size_t *dims)
{
  char header[256] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  size_t count = 1;
  buffer b = {0};

  for (size_t k = 0; k < rank; k++) {
    snprintf(header + strlen(header), sizeof header - strlen(header), "%zu,", dims[k]);
    count = count <= 1 << 16 ? count * dims[k] : count;
  }
  strcat(header, "), }\n");
  buffer_put(&b, "\x93NUMPY\1\0", 8);
  buffer_put_word(&b, strlen(header), 2);
  buffer_put(&b, header, strlen(header));
  for (size_t i = 0; i < count; i++) {
    const float x = ((float)(i % 7) - 3) / 4;

    buffer_put(&b, &x, sizeof x);
  }
  return b;
}

static bool
is_one_sided(const char *said)
{
  for (size_t i = 0; i < sizeof one_sided / sizeof one_sided[0]; i++)
    if (strstr(said, one_sided[i]) != NULL)
      return true;
  return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  size_t dims[CLARKE_MAX_RANK], rank = shape_of_input(dims, data, size), n = 0;
  buffer batch = batch_of(rank, dims);
  const checker_pair pair = {checker_file(0, data, size), checker_file(1, batch.data, batch.size)};
  const clarke_file files[] = {{.data = (unsigned char *)data, .size = size}, {.data = batch.data, .size = batch.size}};
  clarke_error err = {CLARKE_OK, ""};
  char *text = NULL;
  FILE *out = open_memstream(&text, &n);
  checker_answer answer;
  clarke_status status;

  REQUIRE(out != NULL);
  status = reading_show(out, &files[0], "x.onnx", &files[1], "x.npy", false, &err);
  REQUIRE(fclose(out) == 0);
  answer = checker_run(checker_show, &pair);
  if (answer.status == 0 ? status != CLARKE_OK || strcmp(text, answer.said) != 0
                         : status == CLARKE_OK && !is_one_sided(answer.said)) {
    fprintf(stderr, "the library: %s\n%s\nthe checker (%d):\n%s\n", err.text, text, answer.status, answer.said);
    REQUIRE(!"both read the same, or both refuse");
  }
  free(text);
  buffer_clear(&batch);
  return 0;
}
