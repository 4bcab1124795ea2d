#include "op/shares.h"

#include "op/lower.h"
#include "op/node.h"

/* max(x, 0), with GridSample's kink. */
static size_t
above_zero(clarke_lowering *low, size_t x, clarke_error *err)
{
  clarke_step *s = x != CLARKE_NONE ? clarke_lower_step_like(low, CLARKE_PIECEWISE, 1, x, err) : NULL;

  if (s == NULL)
    return CLARKE_NONE;
  s->op = clarke_operator_find("GridSample");
  s->pieces.n_kinks = 1;
  mpq_set_ui(s->pieces.coef[1][1], 1, 1);
  low->graph->values[s->out].batch = low->graph->values[x].batch;
  return s->out;
}

/* A constant of `n` numbers from `first` on, 1 apart. */
static size_t
numbers_from(clarke_lowering *low, double first, size_t n, clarke_error *err)
{
  size_t value;

  if (clarke_lower_made(low, 1, &n, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t k = 0; k < n; k++)
    low->graph->values[value].real[k] = first + (double)k;
  return value;
}

/* What entries take by x at their own number, the next, and one more: the first, those between, the last. */
typedef struct {
  double first[3], inner[3], last[3];
} shape;

static size_t
summed(clarke_lowering *low, size_t x, size_t n, size_t terms, const shape *s, clarke_error *err)
{
  const size_t dims[2] = {n + terms - 1, n};
  size_t by;

  if (x == CLARKE_NONE || clarke_lower_made(low, 2, dims, &by, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < terms; i++)
      low->graph->values[by].real[(k + i) * n + k] = (k == 0 ? s->first : k + 1 == n ? s->last : s->inner)[i];
  return clarke_inner_of(low, "MatMul", x, by, err);
}

/* max(x, 0), whose kink has on AD's side what the other has on its own: x + max(-x, 0). */
static size_t
cut_at_zero(clarke_lowering *low, size_t x, clarke_error *err)
{
  return clarke_inner_of(low, "Add", x, above_zero(low, clarke_inner_function(low, "Neg", x, err), err), err);
}

/* Entry k has 1 - |x - k| where that is above 0: the sum of max(x - k + 1, 0), -2 max(x - k, 0) and max(x - k - 1, 0). */
static size_t
between(clarke_lowering *low, size_t x, size_t n, bool border, clarke_error *err)
{
  static const shape plain = {{1, -2, 1}, {1, -2, 1}, {1, -2, 1}}, ended = {{1, -2, 1}, {1, -2, 1}, {1, -1, 0}}, alone = {{1, -1, 0}, {0}, {0}};
  size_t from;

  x = border ? cut_at_zero(low, x, err) : x;
  from = x != CLARKE_NONE ? numbers_from(low, -1, n + 2, err) : x;
  x = above_zero(low, clarke_inner_of(low, "Sub", x, from, err), err);
  return summed(low, x, n, 3, !border ? &plain : n == 1 ? &alone : &ended, err);
}

/* Entry k has 1 where the place is nearest to it, of two whole numbers to the even one; at a border the first has it below, too, and the last above. */
static size_t
nearest(clarke_lowering *low, size_t x, size_t n, bool border, clarke_error *err)
{
  static const shape plain = {{1, -1}, {1, -1}, {1, -1}}, ended = {{0, -1}, {1, -1}, {1, 0}}, alone = {{0}, {0}, {0}};
  const clarke_attr to = clarke_inner_int("to", 1);
  size_t one;

  x = clarke_inner_of(low, "Greater", clarke_inner_function(low, "Round", x, err), numbers_from(low, -0.5, n + 1, err), err);
  x = x != CLARKE_NONE ? clarke_inner_node(low, "Cast", &x, 1, &to, 1, err) : x;
  x = summed(low, x, n, 2, !border ? &plain : n == 1 ? &alone : &ended, err);
  if (!border || x == CLARKE_NONE)
    return x;
  if (clarke_lower_made(low, 1, &n, &one, err) != CLARKE_OK)
    return CLARKE_NONE;
  low->graph->values[one].real[0] = 1; /* the first entry's, but for what is above 1/2 */
  return clarke_inner_of(low, "Add", x, one, err);
}

size_t
clarke_shares(clarke_lowering *low, size_t places, size_t n, clarke_seeing how, bool border, clarke_error *err)
{
  return how == CLARKE_SEES_NEAREST ? nearest(low, places, n, border, err) : between(low, places, n, border, err);
}

size_t
clarke_shares_joined(clarke_lowering *low, const size_t *along, size_t axes, size_t lead, size_t places, const size_t *n, clarke_error *err)
{
  size_t all = along[0], entries = n[0];

  for (size_t a = 1; a < axes; a++) {
    const int64_t rows[4] = {(int64_t)lead, (int64_t)places, (int64_t)entries, 1}, columns[4] = {rows[0], rows[1], 1, (int64_t)n[a]};

    all = clarke_inner_of(low, "Mul", clarke_inner_reshaped(low, all, rows, 4, err), clarke_inner_reshaped(low, along[a], columns, 4, err), err);
    entries *= n[a];
  }
  return clarke_inner_reshaped(low, all, (const int64_t[]){(int64_t)lead, (int64_t)places, (int64_t)entries}, 3, err);
}
