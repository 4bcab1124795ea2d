/* GridSample, CenterCropPad, Col2Im (docs/operators.md, "Images that are sampled"). */
#include "check/onnx/grid.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/places.h"
#include "check/onnx/resize.h"

#include <string.h>

enum { SPACE = 3, MOST = 4 }; /* axes of space; entries of which a place takes shares along one */
enum { FARTHEST = 4096 };     /* entries outside of an axis: beyond, floats have another place */

typedef enum { IS_NEAREST, IS_LINEAR, IS_CUBIC } sampling;

/* How an axis of n entries is sampled; it begins at `first` and is as long as `length`. */
typedef struct {
  sampling how;
  const char *padding;
  bool corners;
} sampler;

/* What a place takes along an axis. */
typedef struct {
  size_t n, entry[MOST]; /* NONE: nothing */
  rational *share;       /* MOST of them */
} portion;

static sampler
read_sampler(const builder *b)
{
  bool later = b->opset >= 20;
  const char *mode = text_attribute(b, "mode", later ? "linear" : "bilinear");
  sampler s = {IS_LINEAR, text_attribute(b, "padding_mode", "zeros"), whole_attribute(b, "align_corners", 0) != 0};
  if (strcmp(mode, "nearest") == 0)
    s.how = IS_NEAREST;
  else if (strcmp(mode, later ? "cubic" : "bicubic") == 0)
    s.how = IS_CUBIC;
  else
    need(strcmp(mode, later ? "linear" : "bilinear") == 0, "an unknown mode");
  need(strcmp(s.padding, "zeros") == 0 || strcmp(s.padding, "border") == 0 || strcmp(s.padding, "reflection") == 0,
       "an unknown padding_mode");
  return s;
}

/* The entry that is seen at a place outside of n. */
static size_t
seen_at(const sampler *s, long at, long n)
{
  if (at >= 0 && at < n)
    return (size_t)at;
  if (s->padding[0] == 'z')
    return NONE;
  if (s->padding[0] == 'b')
    return at < 0 ? 0 : (size_t)n - 1;
  /* Entries 0 ... n - 1 and back again: without the corners the last is seen twice. */
  long period = s->corners ? 2 * (n - 1) : 2 * n;
  at %= period;
  at += at < 0 ? period : 0;
  return (size_t)(at < n ? at : period - (s->corners ? 0 : 1) - at);
}

/* x is nearest to a whole number whatever rounding does to floats of it, or lies in the middle of two: then x becomes it, the even one. */
static void
round_place(const builder *b, rational *x, size_t n)
{
  RATIONAL(below);
  RATIONAL(half);
  RATIONAL(away);
  RATIONAL(slack);
  mpz_fdiv_q(mpq_numref(&below), mpq_numref(x), mpq_denref(x));
  mpq_set_ui(&half, 1, 2);
  mpq_sub(&away, x, &below);
  mpq_sub(&away, &away, &half); /* below 0: down */
  int up = mpq_sgn(&away);
  mpq_abs(&away, &away);
  mpq_set_ui(&slack, n, 1);
  mpq_abs(&half, x);
  mpq_add(&slack, &slack, &half);
  mpq_div_2exp(&slack, &slack, 20);
  need(up == 0 || mpq_cmp(&away, &slack) > 0, "rounding floats decides which entry is nearest");
  if (up > 0 || (up == 0 && mpz_odd_p(mpq_numref(&below))))
    mpq_add(&below, &below, &plus_one);
  mpq_set(x, &below);
}

/* x = ((g + 1) n - 1) / 2, or (g + 1) (n - 1) / 2 where -1 and 1 are the corners' middles. */
static void
place_of(rational *x, const rational *g, size_t n, bool corners)
{
  RATIONAL(q);
  mpq_set_ui(&q, corners ? n - 1 : n, 1);
  mpq_add(x, g, &plus_one);
  mpq_mul(x, x, &q);
  if (!corners)
    mpq_sub(x, x, &plus_one);
  mpq_div_2exp(x, x, 1);
}

/* Is x outside of the axis, which without the corners has half an entry more at each end? */
static bool
is_outside(const rational *x, size_t n, bool corners)
{
  RATIONAL(end);
  mpq_set_si(&end, corners ? 0 : -1, 2);
  mpq_canonicalize(&end);
  bool before = mpq_cmp(x, &end) < 0;
  mpq_set_si(&end, (long)(2 * n) - (corners ? 2 : 1), 2);
  mpq_canonicalize(&end);
  return before || mpq_cmp(x, &end) > 0;
}

static void
find_portion(const builder *b, const sampler *s, portion *p, const rational *g, size_t n)
{
  RATIONAL(x);
  RATIONAL(r);
  RATIONAL(coefficient);
  mpq_set_si(&coefficient, -3, 4);
  place_of(&x, g, n, s->corners);
  need(s->how != IS_CUBIC || s->padding[0] != 'b' || !is_outside(&x, n, s->corners),
       "readers differ on what is cubic outside of a border");
  need(mpq_cmp_si(&x, -FARTHEST, 1) >= 0 && mpq_cmp_ui(&x, n - 1 + FARTHEST, 1) <= 0,
       "rounding floats decides what is so far outside");
  if (s->how == IS_NEAREST)
    round_place(b, &x, n);
  mpz_fdiv_q(mpq_numref(&r), mpq_numref(&x), mpq_denref(&x));
  long first = mpz_get_si(mpq_numref(&r)) - (s->how == IS_CUBIC);
  mpq_sub(&r, &x, &r);
  p->n = s->how == IS_NEAREST ? 1 : s->how == IS_LINEAR ? 2 : MOST;
  if (s->how == IS_CUBIC)
    cubic_shares(p->share, &r, &coefficient);
  else {
    mpq_sub(&p->share[0], &plus_one, &r);
    mpq_set(&p->share[1], &r);
  }
  for (size_t k = 0; k < p->n; k++)
    p->entry[k] = seen_at(s, first + (long)k, (long)n);
}

/* The grid has the samples of a run, all of them the same, where they are on an axis of x. */
static void
check_grid(const builder *b, const sampler *s)
{
  const value *x = &b->in[0], *grid = &b->in[1];
  size_t whole = is_batch(b, x) ? b->net->together : 1, space = x->rank - 2;
  need(grid->constant != NULL && grid->constant->real, "the grid is no constant of floats");
  need(x->rank >= 4 && x->rank <= 2 + SPACE && grid->rank == x->rank && (s->how != IS_CUBIC || space == 2),
       "not an image of two axes, or three, and a grid of as many");
  need(grid->count > 0 && grid->dims[0] == x->dims[0] * whole && grid->dims[x->rank - 1] == space,
       "the grid is of other samples, or of other axes");
  need(s->how != IS_NEAREST || grid->constant->type == FLOAT || grid->constant->type == DOUBLE,
       "mode nearest, and a grid neither of float32 nor of float64");
  for (size_t i = grid->count / whole; i < grid->count; i++)
    need(mpq_equal(&grid->constant->value[grid->map[i]], &grid->constant->value[grid->map[i % (grid->count / whole)]]),
         "the samples have different grids");
  for (size_t a = 2; a < x->rank; a++)
    need(x->dims[a] > 1 || !s->corners || s->padding[0] != 'r', "one entry, and nothing to be reflected");
  grid->constant->number = true;
}

/* What all channels take at a place of the grid: shares of entries, each the product of those along the axes. */
static size_t
find_shares(const builder *b, const sampler *s, size_t place, size_t *entry, rational *share)
{
  const value *x = &b->in[0], *grid = &b->in[1];
  size_t space = x->rank - 2, ways = 1;
  portion along[SPACE];
  for (size_t a = 0; a < space; a++) { /* the last axis has the grid's first number */
    along[a].share = rationals(MOST);
    find_portion(b, s, &along[a], &grid->constant->value[grid->map[(place + 1) * space - 1 - a]], x->dims[a + 2]);
    ways *= along[a].n;
  }
  for (size_t way = 0; way < ways; way++) {
    size_t rest = way;
    entry[way] = 0;
    mpq_set_ui(&share[way], 1, 1);
    for (size_t a = space; a-- > 0; rest /= along[a].n) {
      size_t k = rest % along[a].n, stride = product(x->dims + a + 3, space - a - 1);
      mpq_mul(&share[way], &share[way], &along[a].share[k]);
      if (along[a].entry[k] == NONE)
        mpq_set_ui(&share[way], 0, 1);
      else
        entry[way] += along[a].entry[k] * stride;
    }
  }
  return ways;
}

/* One entry of the output, which is number f of the step: the shares of a channel's entries from `first` on. */
static void
take_shares(builder *b, step *st, size_t f, size_t first, size_t width, const size_t *entry, const rational *share)
{
  for (size_t k = 0; k < width; k++) {
    if (mpq_sgn(&share[k]) == 0) {
      st->sources[f * width + k].step = PADDING;
      continue;
    }
    factor *by = operand(b, st, f * width + k, &b->in[0], first + entry[k]);
    if (width > 1)
      by->coef = &share[k];
  }
}

/* A number a / 2. */
static value
half_of(const builder *b, size_t a)
{
  RATIONAL(q);
  mpq_set_ui(&q, a, 2);
  mpq_canonicalize(&q);
  return rational_of(b, &q);
}

/* Where the grid is computed, the image is a matrix, times the shares that its entries have at each place. */
static void
put_moved(builder *b, const sampler *s)
{
  size_t dims[MAX_RANK], grid[MAX_RANK], rank = run_axes(b, 0, dims), entries = 1, places = 1;
  long out[MAX_RANK];
  value along[SPACE];
  need(s->how != IS_CUBIC && s->padding[0] != 'r',
       "the grid is computed, and the mode is neither nearest nor linear, or the padding reflection");
  need(rank >= 4 && rank <= 2 + SPACE && run_axes(b, 1, grid) == rank && grid[0] == dims[0]
           && grid[rank - 1] == rank - 2,
       "not an image of two axes, or three, and a grid of as many");
  for (size_t a = 0; a < rank - 2; a++) {
    size_t n = dims[a + 2], first = rank - 3 - a;
    value list[4] = {b->in[1], list_of(b, 1, (long[]){(long)first}), list_of(b, 1, (long[]){(long)first + 1}),
                     list_of(b, 1, (long[]){(long)rank - 1})};
    value at = with(b, "Mul", inner_node(b, "Slice", 4, list, NULL), half_of(b, s->corners ? n - 1 : n));
    along[a] = shares_of(b, with(b, "Add", at, half_of(b, n - 1)), n, s->how == IS_NEAREST, s->padding[0] == 'b');
    out[a + 2] = (long)grid[a + 1];
    entries *= n;
    places *= grid[a + 1];
  }
  out[0] = (long)dims[0];
  out[1] = (long)dims[1];
  value shares = joint_shares(b, rank - 2, along, dims + 2, dims[0], places);
  shares = inner_node(b, "Transpose", 1, &shares, inner_list("perm", 3, (long[]){0, 2, 1}));
  value image = with(b, "Reshape", b->in[0], list_of(b, 3, (long[]){out[0], out[1], (long)entries}));
  b->out = with(b, "Reshape", with(b, "MatMul", image, shares), list_of(b, rank, out));
}

void
lower_grid(builder *b)
{
  sampler s = read_sampler(b);
  if (b->in[1].constant == NULL) {
    lift_constant(b);
    put_moved(b, &s);
    return;
  }
  check_grid(b, &s);
  const value *x = &b->in[0], *grid = &b->in[1];
  size_t space = x->rank - 2, samples = x->dims[0], dims[MAX_RANK], width = 1;
  size_t places = grid->count / grid->dims[0] / space, image = product(x->dims + 2, space);
  memcpy(dims, x->dims, 2 * sizeof *dims);
  memcpy(dims + 2, grid->dims + 1, space * sizeof *dims);
  for (size_t a = 0; a < space; a++)
    width *= s.how == IS_NEAREST ? 1 : s.how == IS_LINEAR ? 2 : MOST;
  step *st = add_step(b, LINEAR, width, x->rank, dims);
  st->copy = s.how == IS_NEAREST;
  for (size_t p = 0; p < samples * places; p++) {
    size_t *entry = allocate(width, sizeof *entry);
    rational *share = rationals(width);
    find_shares(b, &s, p, entry, share);
    for (size_t c = 0; c < dims[1]; c++) {
      size_t channel = p / places * dims[1] + c;
      take_shares(b, st, channel * places + p % places, channel * image, width, entry, share);
    }
  }
}

/* ---- Operators that are others */

/* Before the middle there is half of what is put around it, or cut off, rounded towards 0. */
void
lower_center(builder *b)
{
  const value *x = &b->in[0];
  long shape[MAX_RANK], pads[2 * MAX_RANK] = {0};
  const tensor *axes = find_attribute(b, "axes");
  size_t n = whole_list(b, 1, "", shape), whole[MAX_RANK];
  bool seen[MAX_RANK] = {false};
  lift_constant(b);
  need(n == (axes != NULL ? axes->count : x->rank), "not a length for each axis");
  whole_run(b, x, whole);
  for (size_t i = 0; i < n; i++) {
    size_t axis = axes != NULL ? axis_of(b, whole_entry(b, axes, i), x->rank) : i;
    need(!seen[axis] && shape[i] > 0 && shape[i] <= INT32_MAX, "an axis twice, or of no entries");
    seen[axis] = true;
    long more = shape[i] - (long)whole[axis];
    pads[axis] = more / 2;
    pads[x->rank + axis] = more - more / 2;
  }
  b->out = inner_node(b, "Pad", 2, (value[]){*x, list_of(b, 2 * x->rank, pads)}, NULL);
}

/* The list is n numbers from `least` on; or all `absent`, where the node has none. */
static void
numbers(const builder *b, const char *name, size_t n, long least, long absent, long *list)
{
  const tensor *t = find_attribute(b, name);
  need(t == NULL || t->count == n, "a list of another length than the image's");
  for (size_t i = 0; i < n; i++) {
    list[i] = t != NULL ? whole_entry(b, t, i) : absent;
    need(list[i] >= least && list[i] <= INT32_MAX, "a number that is too small, or too large");
  }
}

/* Windows' entries added on an image: what a convolution turned round does, whose filter k has a 1 at place k. */
void
lower_fold(builder *b)
{
  const value *x = &b->in[0];
  long image[MAX_RANK], block[MAX_RANK], by[MAX_RANK], apart[MAX_RANK], pads[2 * MAX_RANK], more[MAX_RANK];
  long spread[MAX_RANK] = {0};
  size_t n = whole_list(b, 1, "", image), taps = 1, places = 1, dims[MAX_RANK];
  lift_constant(b);
  need(n > 0 && n + 2 <= MAX_RANK && whole_list(b, 2, "", block) == n, "the image and the window are of other axes");
  numbers(b, "strides", n, 1, 1, by);
  numbers(b, "dilations", n, 1, 1, apart);
  numbers(b, "pads", 2 * n, 0, 0, pads);
  for (size_t i = 0; i < n; i++) {
    need(image[i] > 0 && image[i] <= INT32_MAX && block[i] > 0 && block[i] <= INT16_MAX, "no image, or no window");
    long room = image[i] + pads[i] + pads[i + n] - apart[i] * (block[i] - 1) - 1;
    need(room >= 0, "the window is larger than the image");
    spread[i + 2] = room / by[i] + 1;
    more[i] = room % by[i];
    taps *= (size_t)block[i];
    places *= (size_t)spread[i + 2];
    dims[i + 2] = (size_t)block[i];
    need(taps <= INT16_MAX && places <= INT32_MAX, "too many windows, or too large");
  }
  need(x->rank == 3 && x->dims[1] % taps == 0 && x->dims[2] == places, "other windows than the input has");
  dims[0] = x->dims[1];
  dims[1] = 1;
  value filters = made_numbers(b, n + 2, dims);
  for (size_t i = 0; i < dims[0]; i++)
    mpq_set_ui(&filters.constant->value[i * taps + i % taps], 1, 1);
  spread[1] = (long)x->dims[1];
  value wide = inner_node(b, "Reshape", 2, (value[]){*x, list_of(b, n + 2, spread)}, NULL);
  tensor attributes[] = {*inner_whole("group", (long)(dims[0] / taps)), *inner_list("strides", n, by),
                         *inner_list("dilations", n, apart), *inner_list("pads", 2 * n, pads),
                         *inner_list("output_padding", n, more)};
  b->out = inner_node_of(b, "ConvTranspose", 2, (value[]){wide, filters}, 5, attributes);
}
