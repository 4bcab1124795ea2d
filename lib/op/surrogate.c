#include "op/surrogate.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/quotient.h"

#include "base/text.h"

#include <string.h>

static const char *const names[] = {[CLARKE_SURROGATE_NONE] = "none", [CLARKE_SURROGATE_ALL] = "all", [CLARKE_SURROGATE_RANGE] = "range",
                                    [CLARKE_SURROGATE_ROUNDED] = "rounded"};

#define N_RULES (sizeof names / sizeof *names)

/* In the order of clarke_surrogates. */
static const struct {
  const char *op;
  bool range, rounded;
} operators[CLARKE_N_SURROGATES] = {{"BipolarQuant", true, false}, {"Ceil", false, false}, {"Floor", false, false}, {"Quant", true, true},
                                    {"QuantizeLinear", true, true}, {"Round", false, false}, {"Sign", false, false}};

bool
clarke_surrogate_parse(clarke_surrogate *rule, const char *name)
{
  size_t i = 0;

  while (i < N_RULES && strcmp(names[i], name) != 0)
    i++;
  *rule = (clarke_surrogate)(i < N_RULES ? i : 0);
  return i < N_RULES;
}

const char *
clarke_surrogate_name(clarke_surrogate rule)
{
  return names[rule];
}

const char *
clarke_surrogate_operator(size_t i)
{
  return i < CLARKE_N_SURROGATES ? operators[i].op : NULL;
}

bool
clarke_surrogate_knows(size_t i, clarke_surrogate rule)
{
  return rule == CLARKE_SURROGATE_RANGE ? operators[i].range : rule != CLARKE_SURROGATE_ROUNDED || operators[i].rounded;
}

clarke_surrogate
clarke_surrogate_of(const clarke_graph *g, const char *op)
{
  size_t i = 0;

  if (strncmp(op, "QLinear", 7) == 0)
    op = "QuantizeLinear";
  while (i < CLARKE_N_SURROGATES && strcmp(operators[i].op, op) != 0)
    i++;
  return i < CLARKE_N_SURROGATES ? g->surrogates.rule[i] : CLARKE_SURROGATE_NONE;
}

size_t
clarke_surrogate_next(const clarke_graph *g, size_t step)
{
  for (size_t i = step; i < g->n_steps; i++) {
    bool first = g->steps[i].kind == CLARKE_ANALYTIC && g->steps[i].function == CLARKE_HELD;

    for (size_t k = i; k-- > 0 && first && g->steps[k].node == g->steps[i].node && strcmp(g->steps[k].name, g->steps[i].name) == 0;)
      first = g->steps[k].kind != CLARKE_ANALYTIC || g->steps[k].function != CLARKE_HELD;
    if (first)
      return i;
  }
  return CLARKE_NONE;
}

char *
clarke_surrogate_text(const clarke_graph *g, size_t step)
{
  static const char *const how[] = {[CLARKE_SURROGATE_NONE] = "", [CLARKE_SURROGATE_ALL] = "its argument's",
                                    [CLARKE_SURROGATE_RANGE] = "its argument's in the range of its numbers, and 0 outside",
                                    [CLARKE_SURROGATE_ROUNDED] = "its argument's where the rounded number is in the range, and 0 outside"};
  const clarke_step *s = &g->steps[step];

  return clarke_text_print("%s (%s): its derivative is %s", s->name, s->op->name, how[clarke_surrogate_of(g, s->op->name)]);
}

size_t
clarke_surrogate_held(clarke_lowering *low, size_t value, clarke_error *err)
{
  return value != CLARKE_NONE ? clarke_lower_inside(low, CLARKE_HELD, value, err) : value;
}

size_t
clarke_surrogate_straight(clarke_lowering *low, size_t passed, size_t value, clarke_error *err)
{
  const size_t off = clarke_inner_of(low, "Sub", passed, clarke_surrogate_held(low, passed, err), err);

  return clarke_inner_of(low, "Add", off, value, err);
}

/* The piece that is x, and the constant below or above the end. Kink 0 is an end at which the gradient passes, kink 1 another. */
static size_t
cut_off(clarke_lowering *low, size_t x, double end, bool above, bool passes, clarke_error *err)
{
  clarke_step *s = x != CLARKE_NONE ? clarke_lower_step_like(low, CLARKE_PIECEWISE, 1, x, err) : NULL;

  if (s == NULL)
    return CLARKE_NONE;
  s->op = clarke_operator_find("Surrogate");
  s->pieces.n_kinks = 1;
  s->pieces.first_kink = !passes;
  mpq_set_d(s->pieces.kink[0], end);
  mpq_set_d(s->pieces.coef[above][0], end);
  mpq_set_ui(s->pieces.coef[!above][1], 1, 1);
  low->graph->values[s->out].batch = low->graph->values[x].batch;
  return s->out;
}

size_t
clarke_surrogate_between(clarke_lowering *low, size_t x, const double *end, const bool *passes, clarke_error *err)
{
  return cut_off(low, cut_off(low, x, end[0], false, passes[0], err), end[1], true, passes[1], err);
}

/* The ends between which a surrogate is its argument: no operator of files, and the same in all profiles. */
const clarke_op clarke_ops_surrogate[] = {
  {.name = "Surrogate", .n_kinks = 2,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"1", "0"}, [CLARKE_JAX_0_10] = {"1", "0"}, [CLARKE_TENSORFLOW_2] = {"1", "0"}}},
  {.name = NULL},
};
