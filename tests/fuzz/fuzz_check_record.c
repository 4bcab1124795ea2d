/* Proofs about recorded steps: an input is a proof about record.onnx or statistic.onnx of tests/check/data, with the files beside it, then a
 * line "===", then the bytes of the trace (the file T). Hashes are put right first. A trace of which something is verified is one
 * that the library reads, too. */
#define _GNU_SOURCE /* memmem */
#include "beside.h"
#include "mutate.h"
#include "target.h"
#include "format/file.h"
#include "format/safetensors.h"

/* The lines, or the trace. */
static bool
mutate_one(buffer *b, chance *c)
{
  const size_t n = end_of_first(b->data, b->size), from = n < b->size ? n + 4 : n;
  const bool lines = one_in(c, 2);
  buffer part = {0};
  bool done;

  buffer_put(&part, b->data + (lines ? 0 : from), lines ? n : b->size - from);
  done = (lines ? mutate_text : mutate_safetensors)(&part, c);
  if (done)
    buffer_replace(b, lines ? 0 : from, lines ? n : b->size - from, part.data, part.size);
  buffer_clear(&part);
  return done;
}

MUTATED_AS(mutate_one)

static void
put_beside(const char *model, const char *part)
{
  char path[512], name[64];
  clarke_file f = {0};

  snprintf(name, sizeof name, "%s.%s", model, part);
  snprintf(path, sizeof path, "%s/%s", CASES, name);
  REQUIRE(clarke_file_read(&f, path, NULL) == CLARKE_OK);
  folder_write(name, f.data, f.size);
  clarke_file_clear(&f);
}

static void
require_read(const uint8_t *data, size_t size)
{
  clarke_tensors ts;

  clarke_tensors_init(&ts);
  REQUIRE(clarke_safetensors_parse(&ts, data, size, "T", NULL) == CLARKE_OK);
  clarke_tensors_clear(&ts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const parts[] = {"onnx", "npz", "parameters", "gradients"};
  const size_t n = end_of_first(data, size), from = n < size ? n + 4 : n;
  const bool statistics = memmem(data, n, "model statistic.onnx ", 21) != NULL;
  buffer proof = {0};
  checker_answer answer;

  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    put_beside(statistics ? "statistic" : "record", parts[i]);
  folder_write("T", data + from, size - from);
  buffer_put(&proof, "===\n", 4);
  buffer_put(&proof, data, n);
  answer = checked_beside(proof.data, proof.size, 0);
  if (answer.status == 0 && strstr(answer.said, "\nTrace: T\n") != NULL)
    require_read(data + from, size - from);
  buffer_clear(&proof);
  return 0;
}
