/* Det: of the matrices on the last two axes, by Laplace's expansion along rows. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#define MOST_ROWS 6
#define SUBSETS (1 << MOST_ROWS)

/* Entry (row, column) of all matrices. */
static size_t
entry_at(clarke_lowering *low, size_t rank, size_t row, size_t column, clarke_error *err)
{
  return clarke_inner_sliced(low, clarke_inner_sliced(low, low->in[0], rank - 2, row, row + 1, err), rank - 1, column, column + 1, err);
}

/* The minor of the rows from `row` on and of the columns in the set, of those of the next row. */
static size_t
expand_row(clarke_lowering *low, const size_t *entry, const size_t *minor, unsigned set, clarke_error *err)
{
  size_t sum = CLARKE_NONE;
  bool minus = false;

  for (unsigned column = 0; column < MOST_ROWS; column++) {
    if ((set >> column & 1) == 0)
      continue;
    const unsigned rest = set & ~(1U << column);
    const size_t term = rest != 0 ? clarke_inner_of(low, "Mul", entry[column], minor[rest], err) : entry[column];

    sum = sum == CLARKE_NONE ? term : clarke_inner_of(low, minus ? "Sub" : "Add", sum, term, err);
    if (sum == CLARKE_NONE || term == CLARKE_NONE)
      return CLARKE_NONE;
    minus = !minus;
  }
  return sum;
}

static size_t
determinant_of(clarke_lowering *low, size_t rank, size_t n, clarke_error *err)
{
  size_t minor[SUBSETS], entry[MOST_ROWS];

  for (size_t row = n; row-- > 0;) {
    for (size_t column = 0; column < n; column++)
      if ((entry[column] = entry_at(low, rank, row, column, err)) == CLARKE_NONE)
        return CLARKE_NONE;
    for (unsigned set = 1; set < 1U << n; set++)
      if ((size_t)__builtin_popcount(set) == n - row && (minor[set] = expand_row(low, entry, minor, set, err)) == CLARKE_NONE)
        return CLARKE_NONE;
  }
  return minor[(1U << n) - 1];
}

static clarke_status
lower_determinant(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, y;
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  if (rank < 2 || dims[rank - 1] != dims[rank - 2] || dims[rank - 1] < 1 || dims[rank - 1] > MOST_ROWS)
    return clarke_lower_fail(low, err, "the last two axes are no square matrix of at most %d rows", MOST_ROWS);
  for (size_t a = rank - 2; a < rank && status == CLARKE_OK; a++)
    status = clarke_axes_apart(low, 0, a, err);
  if (status != CLARKE_OK)
    return status;
  y = determinant_of(low, rank, dims[rank - 1], err);
  if (y != CLARKE_NONE)
    y = clarke_inner_of(low, "Squeeze", y, clarke_inner_integers(low, (int64_t[]){-2, -1}, 2, err), err);
  return clarke_inner_done(low, 0, y, err);
}

const clarke_op clarke_ops_determinant[] = {
  {.name = "Det", .forms = {{11, 1, 1, 1, NULL}}, .lower = lower_determinant, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
