/* A fuzz target: gives one input to one reader and aborts if the reader, having accepted it, hands
 * over something that is not what its header promises. What a reader refuses is its own business;
 * that it neither crashes nor leaks is the sanitizers'. */
#ifndef CLARKE_TESTS_FUZZ_TARGET_H
#define CLARKE_TESTS_FUZZ_TARGET_H

#include "exact/float8.h"
#include "format/tensors.h"
#include "op/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
      abort(); \
    } \
  } while (0)

/* A refusal has a code, and a message that names the file. */
static inline void
require_refusal(clarke_status status, const clarke_error *err, const char *file)
{
  REQUIRE(status == CLARKE_EINPUT || status == CLARKE_ENOMEM);
  REQUIRE(err->code == status);
  REQUIRE(strncmp(err->text, file, strlen(file)) == 0);
  REQUIRE(memchr(err->text, '\0', sizeof err->text) != NULL);
}

static inline void
require_entries(const clarke_tensor *t)
{
  const bool floats = t->dtype <= CLARKE_F64 || clarke_float8_is(t->dtype);
  size_t count = 1;

  REQUIRE(t->name != NULL && t->rank <= CLARKE_MAX_RANK);
  for (size_t k = 0; k < t->rank; k++)
    count = t->dims[k] == 0 ? 0 : count * t->dims[k];
  REQUIRE(count == t->count && count <= CLARKE_MAX_ENTRIES);
  REQUIRE((t->real != NULL) == floats);
  REQUIRE((t->integer != NULL) == !floats);
}

/* And finite: a model's may be infinite or NaN, others' not. */
static inline void
require_tensor(const clarke_tensor *t)
{
  require_entries(t);
  for (size_t i = 0; i < t->count && t->real != NULL; i++)
    REQUIRE(isfinite(t->real[i]));
}

static inline void
require_tensors(const clarke_tensors *ts)
{
  for (size_t i = 0; i < ts->n; i++) {
    require_tensor(&ts->tensor[i]);
    REQUIRE(i == 0 || strcmp(ts->tensor[i - 1].name, ts->tensor[i].name) < 0);
  }
}

#endif
