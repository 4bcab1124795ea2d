/* GridSample whose grid is computed: the shares of an image's entries are functions of the places, and are multiplied with the image. */
#include "op/axes.h"
#include "op/grid_moved.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/shares.h"

#define MOST_AXES 3

typedef struct {
  size_t samples, channels, axes, space[MOST_AXES], entries; /* of the image */
  size_t out[MOST_AXES], places;                             /* of the grid */
} moved;

static clarke_status
read_shapes(moved *m, const clarke_lowering *low, clarke_error *err)
{
  size_t x[CLARKE_MAX_WHOLE], g[CLARKE_MAX_WHOLE];
  const size_t rank = clarke_axes_of_run(low, 0, x), of = clarke_axes_of_run(low, 1, g);

  if (rank < 4 || rank > 2 + MOST_AXES || of != rank || g[rank - 1] != rank - 2 || g[0] != x[0])
    return clarke_lower_fail(low, err, "an input of %zu axes and a grid of %zu; expected 4 or 5 axes both, and as many samples", rank, of);
  *m = (moved){.samples = x[0], .channels = x[1], .axes = rank - 2, .entries = 1, .places = 1};
  for (size_t a = 0; a < m->axes; a++) {
    m->space[a] = x[a + 2];
    m->out[a] = g[a + 1];
    m->entries *= m->space[a];
    m->places *= m->out[a];
  }
  return CLARKE_OK;
}

/* The shares along an axis: of the grid's number g the place is ((g + 1) n - 1) / 2, or (g + 1) (n - 1) / 2. */
static size_t
along_axis(clarke_lowering *low, const moved *m, size_t axis, const clarke_grid_rules *rules, clarke_error *err)
{
  const size_t n = m->space[axis], of = m->axes - 1 - axis; /* the grid has the last axis first */
  const size_t g = clarke_inner_sliced(low, low->in[1], m->axes + 1, of, of + 1, err);
  const double half = (double)(rules->corners ? n - 1 : n) / 2;
  const size_t scale = clarke_inner_number(low, half, err), shift = clarke_inner_number(low, ((double)n - 1) / 2, err);
  const size_t at = clarke_inner_of(low, "Add", clarke_inner_of(low, "Mul", g, scale, err), shift, err);

  return at == CLARKE_NONE ? at : clarke_shares(low, at, n, rules->nearest ? CLARKE_SEES_NEAREST : CLARKE_SEES_BETWEEN, rules->border, err);
}

clarke_status
clarke_lower_moved_grid(clarke_lowering *low, const clarke_grid_rules *rules, clarke_error *err)
{
  const int64_t turned[3] = {0, 2, 1};
  int64_t image[3], out[MOST_AXES + 2];
  size_t along[MOST_AXES], shares, x;
  moved m;
  clarke_status status = read_shapes(&m, low, err);

  if (status == CLARKE_OK && !clarke_lower_affordable(low->graph, m.places * m.entries))
    status = clarke_lower_too_large(low, err);
  for (size_t a = 0; a < m.axes && status == CLARKE_OK; a++) {
    along[a] = along_axis(low, &m, a, rules, err);
    status = along[a] != CLARKE_NONE ? CLARKE_OK : clarke_inner_failed(err);
    out[a + 2] = (int64_t)m.out[a];
  }
  if (status != CLARKE_OK)
    return status;
  shares = clarke_shares_joined(low, along, m.axes, m.samples, m.places, m.space, err);
  out[0] = image[0] = (int64_t)m.samples;
  out[1] = image[1] = (int64_t)m.channels;
  image[2] = (int64_t)m.entries;
  x = shares != CLARKE_NONE ? clarke_inner_reshaped(low, low->in[0], image, 3, err) : shares;
  x = clarke_inner_of(low, "MatMul", x, clarke_inner_transposed(low, shares, turned, 3, err), err);
  return clarke_inner_done(low, 0, clarke_inner_reshaped(low, x, out, m.axes + 2, err), err);
}
