#include "orders.h"

#include "device.h"

/* first, first + by, ... below end: each but the first is fused. */
static void
write_chain(FILE *to, size_t first, size_t by, size_t end)
{
  const size_t more = (end - first - 1) / by, last = first + more * by;

  if (more == 0)
    fprintf(to, "%zu", first);
  else if (more == 1)
    fprintf(to, "[%zu %zu*]", first, last);
  else if (by == 1)
    fprintf(to, "[%zu %zu-%zu*]", first, first + 1, last);
  else
    fprintf(to, "[%zu %zu-%zu/%zu*]", first, first + by, last, by);
}

/* What lane l holds when those of l + step, l + 3 step, ... were added. */
static void
write_lanes(FILE *to, size_t l, size_t step, size_t lanes, size_t k)
{
  if (step == lanes) {
    write_chain(to, l, lanes, k);
    return;
  }
  if (l + step >= k) { /* nothing but zeros is added */
    write_lanes(to, l, 2 * step, lanes, k);
    return;
  }
  fputc('[', to);
  write_lanes(to, l, 2 * step, lanes, k);
  fputc(' ', to);
  write_lanes(to, l + step, 2 * step, lanes, k);
  fputc(']', to);
}

static void
write_pieces(FILE *to, size_t k)
{
  const size_t length = (k + PIECES - 1) / PIECES;

  if (k > length)
    fputc('[', to);
  for (size_t first = 0; first < k; first += length) {
    if (first > 0)
      fputc(' ', to);
    write_chain(to, first, 1, first + length < k ? first + length : k);
  }
  if (k > length)
    fputc(']', to);
}

void
order_write(FILE *to, sum_order order, size_t k, bool bias)
{
  if (bias)
    fputc('[', to);
  switch (order) {
  case ORDER_TREE:
    write_lanes(to, 0, 1, TREE_LANES, k);
    break;
  case ORDER_WARP:
    write_lanes(to, 0, 1, WARP, k);
    break;
  case ORDER_SPLIT:
    write_pieces(to, k);
    break;
  default:
    write_chain(to, 0, 1, k);
    break;
  }
  if (bias)
    fprintf(to, " %zu]", k);
}
