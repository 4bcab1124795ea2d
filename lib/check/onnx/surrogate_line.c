/* What a proof says of surrogates (surrogate_line.h). */
#include "check/onnx/surrogate_line.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *op;
  bool range, rounded; /* has it these rules? */
} operators[N_SURROGATES] = {{"BipolarQuant", true, false}, {"Ceil", false, false},         {"Floor", false, false},
                             {"Quant", true, true},         {"QuantizeLinear", true, true}, {"Round", false, false},
                             {"Sign", false, false}};

static const char *const rules[] = {
    [PASSES_NOTHING] = "none", [PASSES_ALL] = "all", [PASSES_RANGE] = "range", [PASSES_ROUNDED] = "rounded"};

static const char *const meanings[] = {
    [PASSES_ALL] = "its argument's",
    [PASSES_RANGE] = "its argument's in the range of its numbers, the ends among them, and 0 outside",
    [PASSES_ROUNDED] = "its argument's where the rounded number is in the range, and 0 outside"};

void
read_surrogates(model *m)
{
  size_t i = 0;
  while (line_is("surrogate")) {
    const char *word = next_word();
    char *op = copy_text(word, strlen(word));
    const char *rule = next_word();
    size_t r = PASSES_ALL;
    while (i < N_SURROGATES && strcmp(operators[i].op, op) != 0)
      i++;
    while (r <= PASSES_ROUNDED && strcmp(rules[r], rule) != 0)
      r++;
    require(i < N_SURROGATES && r <= PASSES_ROUNDED && (r != PASSES_RANGE || operators[i].range)
                && (r != PASSES_ROUNDED || operators[i].rounded),
            "'%s' has no surrogate '%s', or it is not behind those before", op, rule);
    m->surrogates[i++] = (surrogate_rule)r;
    free(op);
  }
}

void
state_surrogates(const model *m)
{
  for (size_t i = 0; i < N_SURROGATES; i++)
    if (m->surrogates[i] != PASSES_NOTHING)
      fprintf(account, "Surrogate: %s has its numbers, but the derivative %s, by design\n", operators[i].op,
              meanings[m->surrogates[i]]);
}

surrogate_rule
surrogate_of(const model *m, const char *op)
{
  for (size_t i = 0; i < N_SURROGATES; i++)
    if (strcmp(operators[i].op, op) == 0)
      return m->surrogates[i];
  return PASSES_NOTHING;
}
