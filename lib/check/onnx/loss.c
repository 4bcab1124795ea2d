/* A loss: for each target minus the entry of its class, times the class's weight; or their sum; or that by the sum of
 * the weights. */
#include "check/onnx/loss.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

typedef struct {
  size_t rank, dims[MAX_RANK]; /* of the input, whole */
  size_t classes, behind, n, n_counted;
  size_t *class; /* of each target; NONE: it is ignored */
  bool mean, sum;
} targets;

static void
read_classes(const builder *b, targets *t)
{
  const value *v = &b->in[1];
  long *list = allocate(t->n, sizeof *list), ignored = whole_attribute(b, "ignore_index", 0);
  bool ignores = find_attribute(b, "ignore_index") != NULL;
  need(whole_list_within(b, 1, "", list, t->n) == t->n && v->rank + 1 == t->rank,
       "not a target for each sample and place");
  for (size_t i = 0; i < v->rank; i++)
    need(v->dims[i] == t->dims[i + (i > 0)], "targets of other axes");
  t->class = allocate(t->n, sizeof *t->class);
  for (size_t i = 0; i < t->n; i++) {
    bool counts = !ignores || list[i] != ignored;
    need(!counts || (list[i] >= 0 && (size_t)list[i] < t->classes), "a target that is no class");
    t->class[i] = counts ? (size_t)list[i] : NONE;
    t->n_counted += counts;
  }
}

static void
read_targets(const builder *b, targets *t)
{
  const char *reduction = text_attribute(b, "reduction", "mean");
  size_t d[MAX_RANK];
  t->mean = strcmp(reduction, "mean") == 0;
  t->sum = strcmp(reduction, "sum") == 0;
  need(t->mean || t->sum || strcmp(reduction, "none") == 0, "an unknown reduction");
  t->rank = run_axes(b, 0, t->dims);
  need(t->rank >= 2, "an input of fewer axes than two");
  t->classes = t->dims[1];
  t->behind = product(t->dims + 2, t->rank - 2);
  need(!__builtin_mul_overflow(t->dims[0], t->behind, &t->n) && t->n > 0, "no targets, or too many");
  read_classes(b, t);
  need(!t->mean || t->n_counted > 0, "a mean of no targets");
  need(!has_input(b, 2) || (run_axes(b, 2, d) == 1 && d[0] == t->classes), "not a weight for each class");
}

/* Minus the entries that are the targets', by weight: 0 where one is ignored. */
static value
each_loss(builder *b, const targets *t, const value *x)
{
  const value *w = has_input(b, 2) ? &b->in[2] : NULL;
  size_t dims[MAX_RANK], n = t->behind * x->dims[0];
  dims[0] = x->dims[0];
  memcpy(dims + 1, t->dims + 2, (t->rank - 2) * sizeof *dims);
  step *s = add_step(b, LINEAR, 1, t->rank - 1, dims);
  for (size_t i = 0; i < n; i++) {
    if (t->class[i] == NONE) {
      s->sources[i].step = PADDING;
      continue;
    }
    operand(b, s, i, x, (i / t->behind * t->classes + t->class[i]) * t->behind + i % t->behind)->coef = &minus_one;
    if (w != NULL && w->constant != NULL)
      factor_of(b, &s->factors[i], w, t->class[i]);
  }
  value y = b->out;
  y.name = "";
  y.shared = x->shared;
  if (w == NULL || w->constant != NULL)
    return y;
  s = add_step(b, PRODUCT, 2, t->rank - 1, dims);
  for (size_t i = 0; i < n; i++) {
    factor_source(b, s, 2 * i, &y, i);
    factor_source(b, s, 2 * i + 1, w, t->class[i] != NONE ? t->class[i] : 0);
  }
  y = b->out;
  y.name = "";
  y.shared = x->shared && w->shared;
  return y;
}

/* The sum of the weights of all targets. */
static value
weight_sum(builder *b, const targets *t)
{
  const value *w = &b->in[2];
  rational *many = rationals(t->classes);
  for (size_t i = 0; i < t->n; i++)
    if (t->class[i] != NONE)
      mpq_add(&many[t->class[i]], &many[t->class[i]], &plus_one);
  step *s = add_step(b, LINEAR, t->classes, 0, NULL);
  for (size_t c = 0; c < t->classes; c++)
    operand(b, s, c, w, c)->coef = &many[c];
  value y = b->out;
  y.name = "";
  y.shared = w->constant != NULL ? b->net->batched : w->shared;
  return y;
}

/* Their sum, or mean. */
static value
reduced(builder *b, const targets *t, const value *each)
{
  rational *share = rationals(1);
  mpq_set_ui(share, 1, t->mean && !has_input(b, 2) ? t->n_counted : 1);
  step *s = add_step(b, LINEAR, each->count, 0, NULL);
  for (size_t i = 0; i < each->count; i++)
    operand(b, s, i, each, i)->coef = share;
  value y = b->out;
  y.name = "";
  y.shared = each->shared;
  if (!t->mean || !has_input(b, 2))
    return y;
  value all = weight_sum(b, t);
  return inner_of(b, "Div", &y, &all);
}

void
lower_loss(builder *b)
{
  targets t = {0};
  lift_constant(b);
  value x = b->in[0];
  need_batch_first(b, &x);
  read_targets(b, &t);
  need(!is_batch(b, &x) || (!t.mean && !t.sum), "the batch axis would be mixed");
  for (size_t i = 0; i < t.n && is_batch(b, &x); i++)
    need(t.class[i] == t.class[i % t.behind], "each sample has other targets");
  need(!has_input(b, 2) || b->in[2].constant != NULL || !is_batch(b, &b->in[2]), "weights of a batch");
  if (b->op[0] == 'S')
    x = inner_node(b, "LogSoftmax", 1, &x, inner_whole("axis", 1));
  value y = each_loss(b, &t, &x);
  b->out = t.mean || t.sum ? reduced(b, &t, &y) : y;
  give_output(b, 1, x);
}
