/* The network is another one where AD does not differentiate the operator: by design, and told. */
#include "check/onnx/surrogate.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/onnx/inner.h"

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

/* ---- Lines of a proof */

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

/* ---- Steps */

surrogate_rule
surrogate_of(const builder *b, const char *op)
{
  for (size_t i = 0; i < N_SURROGATES; i++)
    if (strcmp(operators[i].op, op) == 0)
      return b->m->surrogates[i];
  return PASSES_NOTHING;
}

value
held(builder *b, value x)
{
  put_function(b, F_HELD, &x);
  value y = b->out;
  y.name = "";
  return y;
}

value
straight(builder *b, value passed, value y)
{
  value constant = held(b, passed), off = inner_of(b, "Sub", &passed, &constant);
  return inner_of(b, "Add", &off, &y);
}

static value
end_of(builder *b, value x, const rational *end, bool above, bool passes)
{
  value number = made_numbers(b, 0, (size_t[]){0});
  mpq_set(number.constant->value, end);
  tensor attributes[] = {*inner_whole("above", above), *inner_whole("passes", passes)};
  return inner_node_of(b, "Surrogate", 2, (value[]){x, number}, 2, attributes);
}

value
between(builder *b, value x, const rational *least, const rational *most, bool at_least, bool at_most)
{
  return end_of(b, end_of(b, x, least, false, at_least), most, true, at_most);
}

void
lower_surrogate(builder *b)
{
  need(b->of != NULL, "no operator of ONNX's");
  bool above = whole_attribute(b, "above", 0) != 0;
  const rational *end = b->in[1].constant->value;
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  s->n_kinks = 1;
  s->number[0] = whole_attribute(b, "passes", 0) == 0;
  mpq_set(&s->at[0], end);
  mpq_set(&s->piece[above][0], end);
  mpq_set(&s->piece[!above][1], &plus_one);
}
