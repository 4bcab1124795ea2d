/* Rounded to floats of 8 bits is the least number, and for each one above it the gap before it, where u is beyond the middle of the gap.
 * In the middle itself u goes up if the number there is even. All are nodes within the node. */
#include "op/float8.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/surrogate.h"

typedef struct {
  size_t n;
  double number[CLARKE_FLOAT8_MOST];
  bool even[CLARKE_FLOAT8_MOST];
} grid;

clarke_dtype
clarke_float8_made(const clarke_lowering *low, size_t i)
{
  static const clarke_dtype types[] = {CLARKE_F8_E4M3FN, CLARKE_F8_E4M3FNUZ, CLARKE_F8_E5M2, CLARKE_F8_E5M2FNUZ};
  const int64_t named = clarke_lower_int(low, "output_dtype", 0);
  const clarke_dtype by_name = named >= 17 && named <= 20 ? types[named - 17] : CLARKE_F32;
  const clarke_value *zero = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

  return zero == NULL || (named != 0 && zero->dtype != by_name) ? by_name : zero->dtype;
}

/* The gaps that lie below even numbers, or below odd ones: their middles, as n numbers in a row, and their widths, as a column. */
static size_t
add_gaps(clarke_lowering *low, const grid *g, bool even, size_t *middles, size_t *widths, clarke_error *err)
{
  size_t n = 0, k = 0;

  for (size_t i = 1; i < g->n; i++)
    n += g->even[i] == even;
  if (clarke_lower_made(low, 1, &n, middles, err) != CLARKE_OK || clarke_lower_made(low, 2, (size_t[]){n, 1}, widths, err) != CLARKE_OK)
    return CLARKE_NONE;
  for (size_t i = 1; i < g->n; i++)
    if (g->even[i] == even) {
      low->graph->values[*middles].real[k] = (g->number[i - 1] + g->number[i]) / 2;
      low->graph->values[*widths].real[k++] = g->number[i] - g->number[i - 1];
    }
  return n;
}

/* The widths of those gaps whose middles u, with one more axis of one place, is beyond. */
static size_t
add_passed(clarke_lowering *low, const grid *g, bool even, size_t u, clarke_error *err)
{
  const clarke_attr to = clarke_inner_int("to", 1);
  size_t middles, widths, beyond;

  if (u == CLARKE_NONE || add_gaps(low, g, even, &middles, &widths, err) == CLARKE_NONE)
    return CLARKE_NONE;
  beyond = clarke_inner_of(low, even ? "GreaterOrEqual" : "Greater", u, middles, err);
  beyond = beyond != CLARKE_NONE ? clarke_inner_node(low, "Cast", &beyond, 1, &to, 1, err) : beyond;
  return clarke_inner_of(low, "MatMul", beyond, widths, err);
}

static size_t
rounded(clarke_lowering *low, const grid *g, size_t u, clarke_error *err)
{
  const size_t last = u != CLARKE_NONE ? clarke_inner_integers(low, (int64_t[]){-1}, 1, err) : u;
  const size_t column = last != CLARKE_NONE ? clarke_inner_node(low, "Unsqueeze", (size_t[]){u, last}, 2, NULL, 0, err) : last;
  const size_t up = add_passed(low, g, true, column, err);
  size_t y = up != CLARKE_NONE ? clarke_inner_of(low, "Add", up, add_passed(low, g, false, column, err), err) : up;

  y = y != CLARKE_NONE ? clarke_inner_node(low, "Squeeze", (size_t[]){y, last}, 2, NULL, 0, err) : y;
  return clarke_inner_of(low, "Add", y, clarke_inner_number(low, g->number[0], err), err);
}

/* What AD passes of u. Beyond the largest number the rounded one is in the range up to the middle of a gap as wide as the last. */
static size_t
passed(clarke_lowering *low, const grid *g, size_t u, clarke_error *err)
{
  const clarke_surrogate rule = clarke_surrogate_of(low->graph, "QuantizeLinear");
  const double most = g->number[g->n - 1], half = (most - g->number[g->n - 2]) / 2;
  const bool range = rule == CLARKE_SURROGATE_RANGE, at_end = range || g->even[g->n - 1];
  const double end = range ? most : most + half;

  return rule == CLARKE_SURROGATE_ALL ? u : clarke_surrogate_between(low, u, (double[]){-end, end}, (bool[]){at_end, at_end}, err);
}

size_t
clarke_float8_quantized(clarke_lowering *low, size_t u, clarke_dtype type, clarke_error *err)
{
  const bool straight = clarke_surrogate_of(low->graph, "QuantizeLinear") != CLARKE_SURROGATE_NONE;
  grid g = {0};
  size_t y;

  g.n = clarke_float8_grid(type, g.number, g.even);
  y = rounded(low, &g, straight ? clarke_surrogate_held(low, u, err) : u, err);
  if (straight && y != CLARKE_NONE)
    y = clarke_surrogate_straight(low, passed(low, &g, u, err), y, err);
  if (y != CLARKE_NONE)
    low->graph->values[y].holds = CLARKE_HOLDS_FLOAT8;
  return y;
}
