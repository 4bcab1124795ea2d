/* Shares are made of max(x - k, 0), or of comparisons with k + 1/2, at whole numbers k. */
#include "check/onnx/places.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/piecewise.h"

/* The value less the numbers from first / 2 on, n of them, 1 apart; compared with them. */
static value
against(builder *b, const char *op, value x, long first, size_t n)
{
  value from = made_numbers(b, 1, &n);
  for (size_t k = 0; k < n; k++) {
    mpq_set_si(&from.constant->value[k], first + 2 * (long)k, 2);
    mpq_canonicalize(&from.constant->value[k]);
  }
  return with(b, op, x, from);
}

/* max(x, 0), with the kink that GridSample has. */
static value
own_kink(builder *b, value x)
{
  put_relu(b, &x);
  value y = b->out;
  y.name = "";
  return y;
}

/* A sum by a constant matrix. */
static value
by_matrix(builder *b, value x, size_t rows, size_t columns, const signed char *entry)
{
  value m = made_numbers(b, 2, (size_t[]){rows, columns});
  for (size_t i = 0; i < rows * columns; i++)
    mpq_set_si(&m.constant->value[i], entry[i], 1);
  return with(b, "MatMul", x, m);
}

static value
between_entries(builder *b, value at, size_t n, bool border)
{
  size_t rows = n + 2;
  signed char *m = allocate(rows * n, sizeof *m);
  for (size_t k = 0; k < n; k++) {
    bool last = border && k == n - 1;
    m[k * n + k] = 1;
    m[(k + 1) * n + k] = last ? -1 : -2;
    m[(k + 2) * n + k] = last ? 0 : 1;
  }
  if (border)
    at = with(b, "Add", at, own_kink(b, of(b, "Neg", at)));
  return by_matrix(b, own_kink(b, against(b, "Sub", at, -2, rows)), rows, n, m);
}

static value
nearest_entries(builder *b, value at, size_t n, bool border)
{
  size_t rows = n + 1;
  signed char *m = allocate(rows * n, sizeof *m);
  for (size_t k = 0; k < n; k++) {
    m[k * n + k] = !border || k > 0;
    m[(k + 1) * n + k] = border && k == n - 1 ? 0 : -1;
  }
  value above = against(b, "Greater", of(b, "Round", at), -1, rows);
  value y = by_matrix(b, inner_node(b, "Cast", 1, &above, inner_whole("to", FLOAT)), rows, n, m);
  if (!border)
    return y;
  value first = made_numbers(b, 1, &n);
  mpq_set_ui(&first.constant->value[0], 1, 1);
  return with(b, "Add", y, first);
}

value
shares_of(builder *b, value at, size_t n, bool nearest, bool border)
{
  return nearest ? nearest_entries(b, at, n, border) : between_entries(b, at, n, border);
}

value
joint_shares(builder *b, size_t axes, const value *along, const size_t *n, size_t lead, size_t places)
{
  value all = along[0];
  long entries = (long)n[0], samples = (long)lead, each = (long)places;
  for (size_t a = 1; a < axes; a++) {
    value rows = with(b, "Reshape", all, list_of(b, 4, (long[]){samples, each, entries, 1}));
    value columns = with(b, "Reshape", along[a], list_of(b, 4, (long[]){samples, each, 1, (long)n[a]}));
    all = with(b, "Mul", rows, columns);
    entries *= (long)n[a];
  }
  return with(b, "Reshape", all, list_of(b, 3, (long[]){samples, each, entries}));
}
