/* Optimizers' updates, as docs/operators.md states them: inputs are the rate, the count, then all tensors, all gradients, all first
 * states, and so on; outputs all tensors, all first states, and so on. */
#include "check/onnx/optimizer.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_UPDATES 65536

/* Input i; a constant as an activation of its entries. */
static value
active(builder *b, size_t i)
{
  return b->in[i].constant != NULL ? of(b, "Sum", b->in[i]) : b->in[i];
}

static value
by(builder *b, const rational *q, value x)
{
  return with(b, "Mul", x, rational_of(b, q));
}

/* The attribute's number, kept; need: it has no default. */
static rational *
setting(builder *b, const char *name, float absent, bool needed)
{
  rational *q = rationals(1);
  bool given = real_attribute(b, name, q, absent);
  need(given || !needed, "an attribute that has no default is missing");
  return q;
}

/* b^n, as an activation, n above 0. */
static value
raised(builder *b, value base, long n)
{
  if (n == 1)
    return base;
  value half = raised(b, base, n / 2), all = with(b, "Mul", half, half);
  return n % 2 == 1 ? with(b, "Mul", all, base) : all;
}

static value
one_less(builder *b, const rational *base, long n)
{
  value power = raised(b, of(b, "Sum", rational_of(b, base)), n);
  return with(b, "Sub", rational_of(b, &plus_one), power);
}

/* The checks that all share: how many tensors there are of so many states, and the count. */
static size_t
tensors_of(builder *b, size_t states, long *count)
{
  size_t n = b->node->n_in > 2 ? (b->node->n_in - 2) / (states + 2) : 0, rate[MAX_RANK], x[MAX_RANK], y[MAX_RANK];
  long list[MAX_RANK];
  need(n > 0 && b->node->n_in == 2 + n * (states + 2) && b->node->n_out <= n * (states + 1),
       "inputs or outputs that are not so many for each tensor");
  for (size_t i = 0; i < b->node->n_in; i++)
    need(has_input(b, i), "an input is missing");
  need(b->in[1].constant != NULL && b->in[1].rank <= 1 && b->in[1].count == 1 && whole_list(b, 1, "", list) == 1
           && list[0] >= 0 && list[0] <= MOST_UPDATES,
       "the count of updates is no constant from 0 to 65536");
  *count = list[0];
  size_t rank = run_axes(b, 0, rate);
  need(product(rate, rank) == 1, "the rate is no one number");
  for (size_t i = 0; i < n; i++) {
    size_t axes = run_axes(b, 2 + i, x);
    need(axes >= rank, "the rate has more axes than a tensor");
    for (size_t k = 1; k < states + 2; k++)
      need(run_axes(b, 2 + k * n + i, y) == axes && memcmp(x, y, axes * sizeof *x) == 0,
           "a gradient or state of another shape than the tensor");
  }
  return n;
}

/* Output k, the first being the node's own. */
static void
give(builder *b, size_t k, value v, value *first)
{
  if (k == 0)
    *first = v;
  else
    give_output(b, k, v);
}

/* The gradient of tensor i of n, with what regularizes it. */
static value
gradient_of(builder *b, value x, size_t n, size_t i)
{
  const rational *norm = setting(b, "norm_coefficient", 0, strcmp(b->op, "Momentum") == 0);
  value g = active(b, 2 + n + i);
  return mpq_sgn(norm) != 0 ? with(b, "Add", by(b, norm, x), g) : g;
}

/* x less change / (sqrt(sum) + epsilon) */
static value
stepped(builder *b, value x, value change, value sum)
{
  const rational *epsilon = setting(b, "epsilon", 1e-6F, false);
  value root = with(b, "Add", of(b, "Sqrt", sum), rational_of(b, epsilon));
  return with(b, "Sub", x, with(b, "Div", change, root));
}

void
lower_adagrad(builder *b)
{
  long count;
  size_t n = tensors_of(b, 1, &count);
  value rate = active(b, 0), first = {0};
  rational *slower = setting(b, "decay_factor", 0, false), *times_slower = rationals(1);
  if (count > 0 && mpq_sgn(slower) != 0) {
    mpq_set_si(times_slower, count, 1);
    mpq_mul(slower, slower, times_slower);
    mpq_add(slower, slower, &plus_one);
    rate = with(b, "Div", rate, of(b, "Sum", rational_of(b, slower)));
  }
  for (size_t i = 0; i < n; i++) {
    value x = active(b, 2 + i), g = gradient_of(b, x, n, i);
    value sum = with(b, "Add", active(b, 2 + 2 * n + i), with(b, "Mul", g, g));
    give(b, i, stepped(b, x, with(b, "Mul", g, rate), sum), &first);
    give(b, n + i, sum, &first);
  }
  b->out = first;
}

/* share old + (1 - share) new */
static value
averaged(builder *b, const rational *share, value old, value new)
{
  rational *rest = rationals(1);
  mpq_sub(rest, &plus_one, share);
  return with(b, "Add", by(b, share, old), by(b, rest, new));
}

void
lower_adam(builder *b)
{
  long count;
  size_t n = tensors_of(b, 2, &count);
  const rational *alpha = setting(b, "alpha", 0.9F, false), *beta = setting(b, "beta", 0.999F, false);
  const rational *post = setting(b, "norm_coefficient_post", 0, false);
  value rate = active(b, 0), first = {0};
  need(mpq_sgn(alpha) >= 0 && mpq_cmp(alpha, &plus_one) < 0 && mpq_sgn(beta) >= 0 && mpq_cmp(beta, &plus_one) < 0,
       "alpha or beta is below 0, or not below 1");
  if (count > 0) {
    rate = with(b, "Mul", rate, of(b, "Sqrt", one_less(b, beta, count)));
    rate = with(b, "Div", rate, one_less(b, alpha, count));
  }
  for (size_t i = 0; i < n; i++) {
    value x = active(b, 2 + i), g = gradient_of(b, x, n, i);
    value mean = averaged(b, alpha, active(b, 2 + 2 * n + i), g);
    value square = averaged(b, beta, active(b, 2 + 3 * n + i), with(b, "Mul", g, g));
    value y = stepped(b, x, with(b, "Mul", mean, rate), square);
    if (mpq_sgn(post) != 0)
      y = with(b, "Sub", y, by(b, post, y));
    give(b, i, y, &first);
    give(b, n + i, mean, &first);
    give(b, 2 * n + i, square, &first);
  }
  b->out = first;
}

void
lower_momentum(builder *b)
{
  long count;
  size_t n = tensors_of(b, 1, &count);
  const rational *alpha = setting(b, "alpha", 0, true), *beta = setting(b, "beta", 0, true);
  const char *mode = text_attribute(b, "mode", "");
  bool nesterov = strcmp(mode, "nesterov") == 0;
  value rate = active(b, 0), first = {0};
  need(nesterov || strcmp(mode, "standard") == 0, "an unknown mode, or none");
  for (size_t i = 0; i < n; i++) {
    value x = active(b, 2 + i), g = gradient_of(b, x, n, i);
    value state = with(b, "Add", by(b, alpha, active(b, 2 + 2 * n + i)), by(b, count > 0 ? beta : &plus_one, g));
    value change = nesterov ? with(b, "Add", g, by(b, alpha, state)) : state;
    give(b, i, with(b, "Sub", x, with(b, "Mul", change, rate)), &first);
    give(b, n + i, state, &first);
  }
  b->out = first;
}
