/* What a tap sees lies between four entries of the image, as GridSample has it with zeros around; it is multiplied by the mask, and by the
 * weight, as a matrix. */
#include "check/onnx/deform.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/places.h"

#include <string.h>

enum { X, WEIGHT, OFFSET, BIAS, MASK };

typedef struct {
  size_t x[4], w[4], o[4];
  size_t groups, parts; /* of the weight; of the offsets */
  long stride[2], dilation[2], before[2];
  size_t taps, places, count;
} windows;

/* Entry i of a list among the attributes, or what it is without one. */
static long
attribute_entry(const builder *b, const char *name, size_t i, long absent)
{
  const tensor *t = find_attribute(b, name);
  return t != NULL && i < t->count ? whole_entry(b, t, i) : absent;
}

static void
check_axes(const builder *b, windows *g)
{
  for (size_t i = 0; i < 2; i++) {
    g->stride[i] = attribute_entry(b, "strides", i, 1);
    g->dilation[i] = attribute_entry(b, "dilations", i, 1);
    g->before[i] = attribute_entry(b, "pads", i, 0);
    long after = attribute_entry(b, "pads", i + 2, 0), k = (long)g->w[i + 2], most = INT32_MAX;
    need(g->stride[i] > 0 && g->dilation[i] > 0 && g->before[i] >= 0 && after >= 0 && g->stride[i] < most
             && g->dilation[i] < most && g->before[i] < most && after < most && k < INT16_MAX
             && g->x[i + 2] < (size_t)most && attribute_entry(b, "kernel_shape", i, k) == k,
         "strides, dilations, pads or the kernel do not fit");
    long room = (long)g->x[i + 2] + g->before[i] + after - g->dilation[i] * (k - 1) - 1;
    need(room >= 0 && g->o[i + 2] == (size_t)(room / g->stride[i]) + 1, "the offsets have not the output's axes");
  }
}

static windows
read_windows(const builder *b)
{
  windows g = {.groups = 1};
  size_t m[MAX_RANK], dims[3][MAX_RANK];
  const tensor *t = b->in[OFFSET].constant;
  long groups = whole_attribute(b, "group", 1), parts = whole_attribute(b, "offset_group", 1);
  need(t == NULL || (t->real && !is_odd(&b->in[OFFSET])), "the offsets are no numbers");
  for (size_t i = 0; i < 3; i++)
    need(run_axes(b, i, dims[i]) == 4, "not four axes");
  memcpy(g.x, dims[X], sizeof g.x);
  memcpy(g.w, dims[WEIGHT], sizeof g.w);
  memcpy(g.o, dims[OFFSET], sizeof g.o);
  need(groups > 0 && parts > 0 && g.x[1] % (size_t)groups == 0 && g.w[0] % (size_t)groups == 0
           && g.x[1] % (size_t)parts == 0 && b->in[WEIGHT].count > 0,
       "the groups do not fit");
  g.groups = (size_t)groups;
  g.parts = (size_t)parts;
  check_axes(b, &g);
  g.taps = g.w[2] * g.w[3];
  g.places = g.o[2] * g.o[3];
  need(g.w[1] == g.x[1] / g.groups && g.o[0] == g.x[0] && g.o[1] == 2 * g.parts * g.taps, "the channels do not fit");
  if (has_input(b, MASK))
    need(run_axes(b, MASK, m) == 4 && m[0] == g.o[0] && 2 * m[1] == g.o[1] && m[2] == g.o[2] && m[3] == g.o[3],
         "the mask does not fit");
  need(t == NULL || !is_batch(b, &b->in[X]) || (g.x[0] == 1 && b->in[X].at == 0 && b->in[X].inner == 0),
       "several samples, each of which has offsets of its own, or not on the first axis");
  size_t sizes[] = {g.x[0], g.x[1], g.taps, g.places};
  g.count = product(sizes, 4);
  return g;
}

/* The four lists of entries around all taps, and the shares of the next ones along both axes. */
typedef struct {
  long *entry[4];
  value share[2], rest[2];
} corners;

/* q is split: the whole number below it, which is returned, and a share that a double has, as it has the other's. */
static long
split(const builder *b, rational *q)
{
  INTEGER(below);
  RATIONAL(whole);
  mpz_fdiv_q(&below, mpq_numref(q), mpq_denref(q));
  need(mpz_sizeinbase(&below, 2) <= 30, "an offset of 2^30 or more");
  mpq_set_z(&whole, &below);
  mpq_sub(q, q, &whole);
  need(mpz_sizeinbase(mpq_denref(q), 2) <= 54, "an offset is too near to a whole number for shares that are doubles");
  return mpz_get_si(&below);
}

static void
find_tap(const builder *b, const windows *g, size_t e, corners *c)
{
  size_t place = e % g->places, tap = e / g->places % g->taps, line = e / g->places / g->taps, channel = line % g->x[1];
  size_t group = line / g->x[1] * g->parts + channel / (g->x[1] / g->parts);
  size_t at[2] = {place / g->o[3], place % g->o[3]}, of[2] = {tap / g->w[3], tap % g->w[3]};
  const value *offset = &b->in[OFFSET];
  long first[2];
  for (size_t a = 0; a < 2; a++) {
    rational *share = &c->share[a].constant->value[e], *rest = &c->rest[a].constant->value[e];
    size_t from = ((group * g->taps + tap) * 2 + a) * g->places + place;
    mpq_set(share, &offset->constant->value[offset->map[from]]);
    first[a] = split(b, share) + (long)at[a] * g->stride[a] + (long)of[a] * g->dilation[a] - g->before[a];
    mpq_set_ui(rest, 1, 1);
    mpq_sub(rest, rest, share);
  }
  for (size_t k = 0; k < 4; k++) {
    long row = first[0] + (long)(k / 2), column = first[1] + (long)(k % 2);
    bool inside = row >= 0 && column >= 0 && row < (long)g->x[2] && column < (long)g->x[3];
    size_t behind = b->in[X].count;
    c->entry[k][e] = inside ? (long)((line * g->x[2] + (size_t)row) * g->x[3] + (size_t)column) : (long)behind;
  }
}

static value
reshaped(builder *b, value x, size_t n, const long *dims)
{
  return with(b, "Reshape", x, list_of(b, n, dims));
}

/* share of y, and the rest of x. */
static value
between(builder *b, value x, value y, const corners *c, size_t axis)
{
  return with(b, "Add", with(b, "Mul", x, c->rest[axis]), with(b, "Mul", y, c->share[axis]));
}

static value
seen(builder *b, const windows *g)
{
  corners c;
  for (size_t k = 0; k < 4; k++)
    c.entry[k] = allocate(g->count, sizeof *c.entry[k]);
  for (size_t a = 0; a < 2; a++) {
    c.share[a] = made_numbers(b, 1, &g->count);
    c.rest[a] = made_numbers(b, 1, &g->count);
  }
  for (size_t e = 0; e < g->count; e++)
    find_tap(b, g, e, &c);
  value x = reshaped(b, b->in[X], 2, (long[]){1, -1}), of[4];
  x = with(b, "Pad", x, list_of(b, 4, (long[]){0, 0, 0, 1}));
  for (size_t k = 0; k < 4; k++)
    of[k] = inner_node(b, "Gather", 2, (value[]){x, list_of(b, g->count, c.entry[k])}, inner_whole("axis", 1));
  value upper = between(b, of[0], of[1], &c, 1), lower = between(b, of[2], of[3], &c, 1);
  return between(b, upper, lower, &c, 0);
}

/* Where offsets are computed, along an axis the shares at where each tap rests, and its offset more. */
static value
moved_along(builder *b, const windows *g, size_t axis)
{
  long n = (long)g->x[0], taps = (long)(g->parts * g->taps), places = (long)g->places, at = (long)axis;
  size_t dims[4] = {1, (size_t)taps, g->places, 1};
  value rest = made_numbers(b, 4, dims), both = reshaped(b, b->in[OFFSET], 4, (long[]){n, taps, 2, places});
  for (size_t e = 0; e < rest.count; e++) {
    size_t place = e % g->places, tap = e / g->places % g->taps;
    long row = (long)(axis == 0 ? place / g->o[3] : place % g->o[3]),
         k = (long)(axis == 0 ? tap / g->w[3] : tap % g->w[3]);
    mpq_set_si(&rest.constant->value[e], row * g->stride[axis] + k * g->dilation[axis] - g->before[axis], 1);
  }
  value list[4] = {both, list_of(b, 1, &at), list_of(b, 1, (long[]){at + 1}), list_of(b, 1, (long[]){2})};
  value offset = reshaped(b, inner_node(b, "Slice", 4, list, NULL), 4, (long[]){n, taps, places, 1});
  return shares_of(b, with(b, "Add", offset, rest), g->x[axis + 2], false, false);
}

static value
seen_moved(builder *b, const windows *g)
{
  long n = (long)g->x[0], parts = (long)g->parts, all = (long)(g->taps * g->places),
       entries = (long)(g->x[2] * g->x[3]);
  value along[2] = {moved_along(b, g, 0), moved_along(b, g, 1)};
  value shares = joint_shares(b, 2, along, g->x + 2, g->x[0], g->parts * g->taps * g->places);
  shares = reshaped(b, shares, 4, (long[]){n, parts, all, entries});
  shares = inner_node(b, "Transpose", 1, &shares, inner_list("perm", 4, (long[]){0, 1, 3, 2}));
  return with(b, "MatMul", reshaped(b, b->in[X], 4, (long[]){n, parts, (long)g->x[1] / parts, entries}), shares);
}

void
lower_deform(builder *b)
{
  bool moved = b->in[OFFSET].constant == NULL;
  if (moved)
    lift_constant(b);
  windows g = read_windows(b);
  long n = (long)g.x[0], channels = (long)g.x[1], groups = (long)g.groups, parts = (long)g.parts, taps = (long)g.taps;
  long places = (long)g.places, outputs = (long)g.w[0], each = channels / groups * taps;
  value y = moved ? seen_moved(b, &g) : seen(b, &g);
  if (has_input(b, MASK)) {
    value mask = reshaped(b, b->in[MASK], 5, (long[]){n, parts, 1, taps, places});
    y = with(b, "Mul", reshaped(b, y, 5, (long[]){n, parts, channels / parts, taps, places}), mask);
  }
  value w;
  if (groups == 1) {
    y = reshaped(b, y, 3, (long[]){n, each, places});
    w = reshaped(b, b->in[WEIGHT], 2, (long[]){outputs, each});
  } else {
    y = reshaped(b, y, 4, (long[]){n, groups, each, places});
    w = reshaped(b, b->in[WEIGHT], 3, (long[]){groups, outputs / groups, each});
  }
  y = reshaped(b, with(b, "MatMul", w, y), 4, (long[]){n, outputs, (long)g.o[2], (long)g.o[3]});
  if (has_input(b, BIAS))
    y = with(b, "Add", y, reshaped(b, b->in[BIAS], 3, (long[]){outputs, 1, 1}));
  if (!moved)
    b->in[OFFSET].constant->number = true;
  b->out = y;
}
