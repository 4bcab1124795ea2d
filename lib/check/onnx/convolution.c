/* Operators with windows, made into steps (docs/operators.md). */
#include "check/onnx/convolution.h"
#include "check/base/allocate.h"

#include <string.h>

#define MAX_WINDOW 4096 /* entries */
#define SPATIAL 4

/* Windows over the last one to four axes of an input (n, channels, ...), of which the last is the last here; axes before them
 * have one entry. */
typedef struct {
  size_t n, channels, in[SPATIAL], out[SPATIAL], width[SPATIAL], stride[SPATIAL], dilation[SPATIAL], pad[SPATIAL],
      after[SPATIAL];
  bool transposed; /* the windows stand at the input's entries and cover the output's */
} windows;

/* One integer for each of the last axes, from entry `at` of the attribute; or the default. */
static void
axes_attribute(const builder *b, const char *name, size_t at, size_t *list, size_t absent)
{
  size_t n = b->in[0].rank - 2;
  const tensor *t = find_attribute(b, name);
  for (size_t i = 0; i < SPATIAL; i++)
    list[i] = absent;
  for (size_t i = 0; i < n; i++) {
    long given = t != NULL ? whole_entry(b, t, at + i) : (long)absent;
    need((t == NULL || t->count == (*name == 'p' ? 2 * n : n)) && given >= 0 && given <= INT32_MAX,
         "not one number, from 0 to 2^31 - 1, for each axis");
    list[SPATIAL - n + i] = (size_t)given;
  }
}

/* A transposed convolution's entries along axis i: those that the windows cover, less the padding. length: how many they are to be, which tells
 * the padding then, an odd one in front but for SAME_UPPER; or one entry more, behind them, where output_shape says so. 0: padding is given. */
static void
crop_windows(const builder *b, windows *g, size_t i, size_t more, size_t length, const char *how)
{
  size_t all = (g->in[i] - 1) * g->stride[i] + (g->width[i] - 1) * g->dilation[i] + 1 + more;
  bool upper = strcmp(how, "SAME_UPPER") == 0, told = find_attribute(b, "output_shape") != NULL;
  need(more < g->stride[i] || more < g->dilation[i], "output_padding is not less than stride or dilation");
  if (told && !upper && length == all + 1)
    all++;
  need(length <= all, "padding of less than nothing, which readers of ONNX take differently");
  if (length > 0) {
    g->pad[i] = (all - length + !upper) / 2;
    g->after[i] = all - length - g->pad[i];
  }
  need(all > g->pad[i] + g->after[i], "the padding leaves no entries");
  g->out[i] = all - g->pad[i] - g->after[i];
}

/* The number of windows along axis i, and its padding when that is automatic. */
static void
place_windows(const builder *b, windows *g, size_t i, const char *how, bool ceil)
{
  long in = (long)g->in[i], reach = (long)((g->width[i] - 1) * g->dilation[i] + 1), by = (long)g->stride[i];
  if (strncmp(how, "SAME_", 5) == 0) {
    long total = (in + by - 1) / by * by - by + reach - in;
    bool conv = strcmp(b->op, "Conv") == 0;
    need(conv || g->dilation[i] == 1, "auto_pad with dilations of a pool, which readers of ONNX take differently");
    need(total >= (conv ? -1 : 0),
         "auto_pad pads an axis by less than nothing, which readers of ONNX take differently");
    total = total > 0 ? total : 0;
    g->out[i] = (size_t)((in + by - 1) / by);
    g->pad[i] = (size_t)(total + (how[5] == 'L')) / 2;
    g->after[i] = (size_t)total - g->pad[i];
    return;
  }
  long room = in + (long)g->pad[i] + (long)g->after[i] - reach + (ceil ? by - 1 : 0);
  need(room >= 0, "a window is larger than the input");
  g->out[i] = (size_t)(room / by) + 1;
  /* The last window must not start in the padding behind. */
  if (ceil && (g->out[i] - 1) * g->stride[i] >= g->in[i] + g->pad[i])
    g->out[i]--;
}

/* The batch is the first axis, perhaps merged with others; or another along which each window has one entry, and none is left out. */
static void
check_batch_axis(const builder *b, const windows *g)
{
  const value *x = &b->in[0];
  size_t i = x->at + SPATIAL - x->rank;
  need(!is_batch(b, x) || (x->at != 1 && (x->at == 0 || x->inner == 0)), "the batch axis would be mixed");
  need(!is_batch(b, x) || x->at == 0 || (g->width[i] == 1 && g->stride[i] == 1 && g->pad[i] + g->after[i] == 0),
       "the batch axis would be mixed");
}

/* The windows of the node's input 0, which have as many axes as it. width: the windows' own, by a weight's shape; NULL: the
 * attribute's. */
static windows
read_windows(const builder *b, const size_t *width, bool transposed)
{
  const value *x = &b->in[0];
  windows g = {.in = {1, 1, 1, 1}, .width = {1, 1, 1, 1}, .transposed = transposed};
  size_t more[SPATIAL] = {0}, length[SPATIAL] = {0}, same[SPATIAL];
  need(x->constant == NULL && x->rank > 2 && x->rank <= 2 + SPATIAL, "its input must be an activation of 3 to 6 axes");
  size_t n = x->rank - 2;
  const char *how = text_attribute(b, "auto_pad", "NOTSET");
  bool given = strcmp(how, "NOTSET") == 0, valid = strcmp(how, "VALID") == 0;
  need(given || valid || strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0, "unknown auto_pad");
  need(given || find_attribute(b, "pads") == NULL, "auto_pad with pads");
  bool told = transposed && find_attribute(b, "output_shape") != NULL;
  need(!told || (!valid && find_attribute(b, "pads") == NULL), "output_shape with pads");
  need(width != NULL || find_attribute(b, "kernel_shape") != NULL, "kernel_shape is missing");
  if (width != NULL)
    memcpy(g.width + SPATIAL - n, width, n * sizeof *width);
  memcpy(same, g.width, sizeof same);
  g.n = x->dims[0];
  g.channels = x->dims[1];
  memcpy(g.in + SPATIAL - n, x->dims + 2, n * sizeof *x->dims);
  axes_attribute(b, "strides", 0, g.stride, 1);
  axes_attribute(b, "dilations", 0, g.dilation, 1);
  axes_attribute(b, "pads", 0, g.pad, 0);
  axes_attribute(b, "pads", n, g.after, 0);
  if (transposed)
    axes_attribute(b, "output_padding", 0, more, 0);
  if (told)
    axes_attribute(b, "output_shape", 0, length, 0);
  if (find_attribute(b, "kernel_shape") != NULL)
    axes_attribute(b, "kernel_shape", 0, g.width, 1);
  for (size_t i = 0; i < SPATIAL; i++) {
    need(width == NULL || g.width[i] == same[i], "kernel_shape is not the weight's");
    need(g.width[i] > 0 && g.width[i] <= INT32_MAX && g.dilation[i] > 0 && g.stride[i] > 0 && g.in[i] <= INT32_MAX,
         "a number is 0 or too large");
    need(!told || i < SPATIAL - n || length[i] > 0, "an output of no entries");
    if (transposed && !told && !given && !valid && i >= SPATIAL - n)
      length[i] = g.in[i] * g.stride[i];
    if (transposed)
      crop_windows(b, &g, i, more[i], length[i], how);
    else
      place_windows(b, &g, i, how, given && whole_attribute(b, "ceil_mode", 0) != 0);
  }
  check_batch_axis(b, &g);
  return g;
}

/* Where along axis i the input is that goes with entry k of the kernel at place p of the output; NONE in the padding. Of a
 * transposed convolution p is entry k of the window at that place of the input. */
static size_t
along(const windows *g, size_t i, size_t p, size_t k)
{
  size_t tap = k * g->dilation[i], to = g->transposed ? p + g->pad[i] : p * g->stride[i] + tap;
  size_t from = g->transposed ? tap : g->pad[i], by = g->transposed ? g->stride[i] : 1;
  return to >= from && (to - from) % by == 0 && (to - from) / by < g->in[i] ? (to - from) / by : NONE;
}

/* Where window p has its entry k in a plane of the input; NONE in the padding. */
static size_t
place_in(const windows *g, size_t p, size_t k)
{
  size_t place = 0, apart = 1;
  for (size_t i = SPATIAL; i-- > 0; p /= g->out[i], k /= g->width[i], apart *= g->in[i]) {
    size_t at = along(g, i, p % g->out[i], k % g->width[i]);
    if (at == NONE)
      return NONE;
    place += at * apart;
  }
  return place;
}

/* The sources of output `place` of a plane: the window's entries in a plane of x. */
static source *
put_window(const builder *b, const windows *g, size_t place, size_t plane, source *t)
{
  const value *x = &b->in[0];
  for (size_t k = 0; k < product(g->width, SPATIAL); k++, t++) {
    size_t at = place_in(g, place, k);
    *t = (source){PADDING, 0};
    if (at != NONE)
      *t = (source){x->step, x->map[plane * product(g->in, SPATIAL) + at]};
  }
  return t;
}

/* The output's shape, with so many channels: its number of axes. */
static size_t
shape(const builder *b, const windows *g, size_t channels, size_t *dims)
{
  size_t n = b->in[0].rank - 2;
  dims[0] = g->n;
  dims[1] = channels;
  memcpy(dims + 2, g->out + SPATIAL - n, n * sizeof *dims);
  return n + 2;
}

/* The node's output so far plus the bias, which has a number for each channel. */
static void
put_bias(builder *b, size_t places, size_t outer)
{
  const value y = b->out, *c = &b->in[2];
  step *s = add_step(b, LINEAR, 2, y.rank, y.dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, 2 * f, &y, f);
    operand(b, s, 2 * f + 1, c, f / places % outer);
  }
}

/* By a weight that is computed: the windows, 0 in the padding, laid out along (plane, entry, place); their products with the
 * weight's rows. */
static void
put_computed(builder *b, const windows *g, size_t groups, size_t outer)
{
  const value *w = &b->in[1];
  size_t area = product(g->width, SPATIAL), places = product(g->out, SPATIAL), inner = g->channels / groups,
         of = inner * area;
  size_t dims[MAX_RANK], axes = shape(b, g, outer, dims), each = outer / groups, planes = g->n * g->channels;
  source *window = allocate(area, sizeof *window);
  step *s = add_step(b, LINEAR, 1, 3, (size_t[]){planes, area, places});
  s->copy = true;
  for (size_t i = 0; i < planes * places; i++) {
    put_window(b, g, i % places, i / places, window);
    for (size_t k = 0; k < area; k++)
      s->sources[(i / places * area + k) * places + i % places] = window[k];
  }
  value laid = b->out;
  s = add_step(b, PRODUCT, 2 * of, axes, dims);
  for (size_t f = 0; f < s->n; f++)
    for (size_t i = 0; i < of; i++) {
      size_t o = f / places % outer, plane = f / places / outer * g->channels + o / each * inner + i / area;
      size_t turned = (o / each * inner + i / area) * each + o % each;
      factor_source(b, s, f * s->width + 2 * i, w, g->transposed ? turned * area + i % area : o * of + i);
      factor_source(b, s, f * s->width + 2 * i + 1, &laid, (plane * area + i % area) * places + f % places);
    }
}

/* By a constant. A row of factors for each output, with the bias as the last if it is `within`; one of sources for each image, group
 * and place. */
static void
put_constant(builder *b, const windows *g, size_t groups, size_t outer, bool within)
{
  const value *w = &b->in[1], *c = &b->in[2];
  size_t inner = g->channels / groups;
  size_t area = product(g->width, SPATIAL), dims[MAX_RANK], each = outer / groups;
  size_t places = product(g->out, SPATIAL), n = g->n * groups, axes = shape(b, g, outer, dims), of = inner * area;
  step *s = add_step(b, LINEAR, 0, axes, dims);
  add_rows(b, s, of + within, outer, n * places);
  for (size_t f = 0; f < s->n; f++) {
    size_t o = f / places % outer, group = f / places / outer * groups + o / each;
    s->factor_row[f] = o;
    s->source_row[f] = group * places + f % places;
  }
  for (size_t row = 0; row < n * places; row++)
    for (size_t i = 0; i < inner; i++)
      put_window(b, g, row % places, row / places * inner + i, &s->sources[row * s->width + i * area]);
  for (size_t o = 0; o < outer; o++) {
    factor *t = &s->factors[o * s->width];
    for (size_t i = 0; i < of; i++) {
      size_t input = o / each * inner + i / area;
      factor_of(b, t + i, w, g->transposed ? (input * each + o % each) * area + i % area : o * of + i);
    }
    if (within)
      factor_of(b, t + of, c, o);
  }
}

/* Conv, ConvTranspose: output channel o is of the channels of group o / (channels of output / groups). Of Conv the weight is (outputs, inputs of a group, kernel), of
 * ConvTranspose (inputs, outputs of a group, kernel). */
void
lower_convolution(builder *b)
{
  const value *w = &b->in[1], *c = &b->in[2];
  bool transposed = strcmp(b->op, "ConvTranspose") == 0;
  need(!is_batch(b, w) && w->rank == b->in[0].rank && w->rank > 2 && w->count > 0, "the weight does not fit");
  windows g = read_windows(b, w->dims + 2, transposed);
  long groups = whole_attribute(b, "group", 1);
  need(groups > 0 && g.channels % (size_t)groups == 0, "the groups do not fit");
  size_t inner = g.channels / (size_t)groups, outer = transposed ? w->dims[1] * (size_t)groups : w->dims[0];
  need(w->dims[0] == (transposed ? g.channels : outer) && (transposed || w->dims[1] == inner)
           && outer % (size_t)groups == 0,
       "the groups do not fit");
  need(c->name == NULL || (!is_batch(b, c) && c->rank == 1 && c->count == outer), "the bias does not fit");
  bool within = c->name != NULL && c->constant != NULL; /* one more factor */
  if (w->constant == NULL)
    put_computed(b, &g, (size_t)groups, outer);
  else
    put_constant(b, &g, (size_t)groups, outer, within);
  if (c->name != NULL && (w->constant == NULL || !within))
    put_bias(b, product(g.out, SPATIAL), outer);
}

/* How many entries of window `place` along axis i are counted: all in the padding, or none. */
static size_t
counted(const windows *g, size_t i, size_t place, bool all)
{
  size_t n = 0, from = all ? 0 : g->pad[i], to = g->pad[i] + g->in[i] + (all ? g->after[i] : 0);
  for (size_t r = 0; r < g->width[i]; r++) {
    size_t at = place * g->stride[i] + r * g->dilation[i];
    n += at >= from && at < to;
  }
  return n;
}

/* Along all axes. */
static size_t
counted_all(const windows *g, size_t p, bool all)
{
  size_t n = 1;
  for (size_t i = SPATIAL; i-- > 0; p /= g->out[i])
    n *= counted(g, i, p % g->out[i], all);
  return n;
}

/* AveragePool, MaxPool. */
void
lower_pool(builder *b)
{
  windows g = read_windows(b, NULL, false);
  bool max = b->op[0] == 'M', all = whole_attribute(b, "count_include_pad", 0) != 0;
  size_t dims[MAX_RANK], places = product(g.out, SPATIAL), area = product(g.width, SPATIAL);
  need(!max || area <= MAX_WINDOW, "a window of more than 4096 entries");
  step *s = add_step(b, max ? WINDOW : LINEAR, area, shape(b, &g, g.channels, dims), dims);
  rational *share = rationals(max ? 0 : places);
  for (size_t i = 0; i < places; i++) {
    need(counted_all(&g, i, false) > 0, "a window of padding alone");
    if (!max)
      mpq_set_ui(&share[i], 1, counted_all(&g, i, all));
  }
  for (size_t f = 0; f < s->n; f++) {
    put_window(b, &g, f % places, f / places, &s->sources[f * s->width]);
    for (size_t i = 0; !max && i < s->width; i++)
      s->factors[f * s->width + i].coef = &share[f % places];
  }
}

/* One window: all of space. */
void
lower_global_maximum(builder *b)
{
  const value *x = &b->in[0];
  size_t dims[MAX_RANK];
  need(x->constant == NULL && x->rank > 2, "its input must be an activation of three axes or more");
  need_rows(b, x);
  for (size_t i = 0; i < x->rank; i++)
    dims[i] = i < 2 ? x->dims[i] : 1;
  need(product(x->dims + 2, x->rank - 2) <= MAX_WINDOW, "a window of more than 4096 entries");
  step *s = add_step(b, WINDOW, product(x->dims + 2, x->rank - 2), x->rank, dims);
  for (size_t i = 0; i < s->n * s->width; i++)
    s->sources[i] = (source){x->step, x->map[i]};
}
