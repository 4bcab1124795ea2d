#include "layered_record.h"
#include "format/tensors.h"

#include <math.h>

uint64_t state;

/* --- layers --- */

static float
number(int kind)
{
  const double unit = (double)draw_between(&state, -(1L << 24), 1L << 24) * 0x1p-24;

  switch (kind) {
  case 0:
    return (float)unit;
  case 1: /* large ones that cancel, among small ones */
    return draw_below(&state, 3) == 0 ? (float)(unit * 0x1p-16) : (float)ldexp(draw_below(&state, 2) == 0 ? 1 : -1, 20);
  case 2:
    return (float)draw_between(&state, -3, 3);
  case 3: /* subnormal ones, and such as have subnormal products */
    return (float)ldexp(unit, draw_below(&state, 3) == 0 ? -130 : -66);
  default: /* near overflow */
    return (float)ldexp(unit, 62);
  }
}

static float *
drawn(size_t n, int kind)
{
  float *to = calloc(n + 1, sizeof *to);

  for (size_t e = 0; e < n; e++)
    to[e] = number(kind);
  return to;
}

static void
add_path(layer *l, size_t out, size_t in, size_t weight)
{
  l->paths = realloc(l->paths, (l->n_paths + 1) * sizeof *l->paths);
  l->paths[l->n_paths++] = (path){out, in, weight};
}

static void
set(long *shape, long a, long b, long c, long d)
{
  memcpy(shape, SHAPE(a, b, c, d,), 5 * sizeof *shape);
}

/* One output of a convolution. in: channels, height, width. */
static void
add_window(layer *l, const net *s, const long *in, size_t out, long o, long y, long x)
{
  const long each = in[0] / s->group, outer = l->weights[0] / s->group, k = s->kernel;

  for (long c = 0; c < each; c++)
    for (long e = 0; e < k * k; e++) {
      const long row = y * s->stride + e / k * s->dilation - s->pad, col = x * s->stride + e % k * s->dilation - s->pad;

      if (row >= 0 && row < in[1] && col >= 0 && col < in[2])
        add_path(l, out, (size_t)((((o / outer) * each + c) * in[1] + row) * in[2] + col), (size_t)((o * each + c) * k * k + e));
    }
  l->bias[out] = (size_t)o;
}

static void
convolve(layer *l, const net *s, const long *in, long outer)
{
  const long reach = (s->kernel - 1) * s->dilation + 1;
  const long height = (in[1] + 2 * s->pad - reach) / s->stride + 1, width = (in[2] + 2 * s->pad - reach) / s->stride + 1;

  ck_assert(height > 0 && width > 0);
  set(l->weights, outer, in[0] / s->group, s->kernel, s->kernel);
  set(l->shape, outer, height, width, SHAPE_END);
  l->n_in = (size_t)(in[0] * in[1] * in[2]);
  l->n_out = (size_t)(outer * height * width);
  l->bias = calloc(l->n_out, sizeof *l->bias);
  for (size_t f = 0; f < l->n_out; f++)
    add_window(l, s, in, f, (long)f / (height * width), (long)f / width % height, (long)f % width);
  l->n_weights = (size_t)(outer * (in[0] / s->group) * s->kernel * s->kernel);
}

/* Of each of `blocks` rows. */
static void
multiply(layer *l, long blocks, long inner, long outer, bool transposed)
{
  set(l->weights, transposed ? inner : outer, transposed ? outer : inner, SHAPE_END, SHAPE_END);
  set(l->shape, blocks > 1 ? blocks : outer, blocks > 1 ? outer : SHAPE_END, SHAPE_END, SHAPE_END);
  l->n_in = (size_t)(blocks * inner);
  l->n_out = (size_t)(blocks * outer);
  l->bias = calloc(l->n_out, sizeof *l->bias);
  for (long f = 0; f < blocks * outer; f++) {
    l->bias[f] = (size_t)(f % outer);
    for (long i = 0; i < inner; i++)
      add_path(l, (size_t)f, (size_t)(f / outer * inner + i), (size_t)(transposed ? i * outer + f % outer : f % outer * inner + i));
  }
  l->n_weights = (size_t)(inner * outer);
}

static void
fill(net *s, size_t i, long outer, int kind)
{
  layer *l = &s->layer[i];

  l->owned = !(s->tied && i == 1); /* its biases are its own */
  l->n_biases = (size_t)outer;
  memcpy(l->biases, SHAPE(outer,), sizeof l->biases);
  l->w = l->owned ? drawn(l->n_weights, kind == 1 ? 2 : kind) : s->layer[0].w;
  for (size_t e = 0; kind == 4 && l->owned && i > 0 && e < l->n_weights; e++)
    l->w[e] = ldexpf(l->w[e], i == 1 ? -142 : -92); /* back from there */
  l->b = drawn(l->n_biases, kind == 4 ? 0 : kind);
}

/* What a pool of 2 x 2 leaves of a side. */
static long
pooled(const net *s, long side)
{
  return s->pool > 0 ? (side - 2) / (long)s->pool + 1 : side;
}

void
draw_net(net *s, const way *how, size_t form)
{
  long between[3];
  const long *shape;

  memset(s, 0, sizeof *s);
  s->n = 1 + draw_below(&state, 3);
  s->layers = 3;
  s->blocks = form == 0;
  s->tied = how->numbers != 4 && (form == 1 || (form == 0 && draw_below(&state, 2) == 0));
  s->transposed = draw_below(&state, 2) == 0;
  s->group = form == 2 ? 2 : 1;
  s->kernel = form == 0 ? 1 : form == 1 ? 3 : 2 + (long)draw_below(&state, 2);
  s->dilation = form == 2 ? 2 : 1;
  s->stride = form == 3 ? 2 : 1;
  s->pad = form == 2 ? s->kernel - 1 : form > 2 ? draw_between(&state, 1, 2) : (long)form;
  s->pool = form == 2 ? 2 : form == 4 ? 1 : 0;
  if (form == 0) {
    set(s->in, 3, 4, SHAPE_END, SHAPE_END);
    multiply(&s->layer[0], 3, 4, 4, true);
    multiply(&s->layer[1], 3, 4, 4, true);
  } else {
    set(s->in, 2, 5, 4, SHAPE_END);
    convolve(&s->layer[0], s, s->in, form == 1 ? 2 : 4);
    shape = s->layer[0].shape;
    memcpy(between, (long[]){shape[0], pooled(s, shape[1]), pooled(s, shape[2])}, sizeof between);
    convolve(&s->layer[1], s, between, form == 1 ? 2 : 4);
  }
  multiply(&s->layer[2], 1, (long)s->layer[1].n_out, 3, s->transposed);
  for (size_t i = 0; i < s->layers; i++)
    fill(s, i, i == 2 ? 3 : form == 0 ? 4 : s->layer[i].weights[0], how->numbers);
  s->x = drawn(s->n * s->layer[0].n_in, how->numbers);
  s->y = drawn(s->n * 3, how->numbers == 4 ? 0 : how->numbers);
}

void
clear_net(net *s)
{
  for (size_t i = 0; i < s->layers; i++) {
    free(s->layer[i].paths);
    free(s->layer[i].bias);
    if (s->layer[i].owned)
      free(s->layer[i].w);
    free(s->layer[i].b);
  }
  free(s->x);
  free(s->y);
}

/* --- a record of it --- */

static void
put(clarke_tensors *ts, record *r, const char *name, const long *shape, float *numbers)
{
  clarke_tensor *t;

  ts->tensor = realloc(ts->tensor, (ts->n + 1) * sizeof *ts->tensor);
  t = &ts->tensor[ts->n++];
  *t = tensor_of(name, CLARKE_F32, shape);
  if (r->changed != NULL && strcmp(name, r->changed) == 0)
    numbers[r->entry] = r->to;
  for (size_t e = 0; e < t->count; e++)
    t->real[e] = numbers[e];
}

/* "output/a0", samples in front. */
static void
keep(record *r, const char *part, const char *node, size_t i, const long *shape, float *numbers)
{
  char name[64];
  long whole[6] = {(long)r->s->n};

  snprintf(name, sizeof name, "%s/%s%zu", part, node, i);
  memcpy(whole + 1, shape, (shape_rank(shape) + 1) * sizeof *shape);
  put(&r->trace, r, name, whole, numbers);
}

/* to += a b, in float32 or to be rounded later */
static void
add(double *to, const way *how, float a, float b)
{
  const double product = (double)a * b;

  *to = how->narrow ? (double)(float)(*to + (float)product) : *to + product;
}

static float *
rounded(double *sum, size_t n)
{
  float *to = calloc(n + 1, sizeof *to);

  for (size_t e = 0; e < n; e++)
    to[e] = (float)sum[e];
  free(sum);
  return to;
}

/* The products, and where they are no node of their own the biases. */
static float *
forwards(const record *r, const layer *l, const float *x, bool biases)
{
  double *sum = calloc(r->s->n * l->n_out + 1, sizeof *sum);

  for (size_t j = 0; j < r->s->n; j++) {
    for (size_t k = 0; k < l->n_paths; k++)
      add(&sum[j * l->n_out + l->paths[k].out], r->how, l->w[l->paths[k].weight], x[j * l->n_in + l->paths[k].in]);
    for (size_t f = 0; biases && f < l->n_out; f++)
      add(&sum[j * l->n_out + f], r->how, l->b[l->bias[f]], 1);
  }
  return rounded(sum, r->s->n * l->n_out);
}

static void
add_biases(const record *r, const layer *l, float *to)
{
  for (size_t e = 0; e < r->s->n * l->n_out; e++)
    to[e] += l->b[l->bias[e % l->n_out]];
}

/* To inputs; to weights and biases, added. */
static float *
backwards(const record *r, const layer *l, const float *g, const float *x, double *gw, double *gb)
{
  double *sum = calloc(r->s->n * l->n_in + 1, sizeof *sum);

  for (size_t j = 0; j < r->s->n; j++) {
    for (size_t k = 0; k < l->n_paths; k++) {
      const float at = g[j * l->n_out + l->paths[k].out];

      add(&sum[j * l->n_in + l->paths[k].in], r->how, l->w[l->paths[k].weight], at);
      add(&gw[l->paths[k].weight], r->how, at, x[j * l->n_in + l->paths[k].in]);
    }
    for (size_t f = 0; f < l->n_out; f++)
      add(&gb[l->bias[f]], r->how, g[j * l->n_out + f], 1);
  }
  return rounded(sum, r->s->n * l->n_in);
}

static float *
where_positive(const float *of, const float *at, size_t n)
{
  float *to = calloc(n + 1, sizeof *to);

  for (size_t e = 0; e < n; e++)
    to[e] = at[e] > 0 ? of[e] : 0;
  return to;
}

/* Winners of 2 x 2 windows, in their planes; what they are. */
static float *
pool(record *r, const float *x, const long *in, const long *out, size_t *winner)
{
  const size_t each = (size_t)(out[0] * out[1] * out[2]), plane = (size_t)(in[1] * in[2]);
  float *to = calloc(r->s->n * each + 1, sizeof *to);
  clarke_tensor *t;

  r->trace.tensor = realloc(r->trace.tensor, (r->trace.n + 1) * sizeof *r->trace.tensor);
  t = &r->trace.tensor[r->trace.n++];
  *t = tensor_of("indices/q0", CLARKE_I64, SHAPE((long)r->s->n, out[0], out[1], out[2],));
  for (size_t e = 0; e < r->s->n * each; e++) {
    const long k = (long)(e % each), row = k / out[2] % out[1] * (long)r->s->pool, col = k % out[2] * (long)r->s->pool;
    const size_t from = (e / each * (size_t)out[0] + (size_t)(k / (out[1] * out[2]))) * plane;

    winner[e] = from + (size_t)(row * in[2] + col);
    for (long i = 1; i < 4; i++) {
      const size_t other = from + (size_t)((row + i / 2) * in[2] + col + i % 2);

      winner[e] = x[other] > x[winner[e]] ? other : winner[e];
    }
    to[e] = x[winner[e]];
    t->integer[e] = (int64_t)(winner[e] - from);
  }
  return to;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const clarke_tensor *)a)->name, ((const clarke_tensor *)b)->name);
}

typedef struct {
  float *a[LAYERS], *r[LAYERS], *q; /* r: behind ReLU; q: pooled */
  size_t *winner;
  long pooled[4];
} activations;

static void
record_forwards(record *r, activations *v)
{
  const net *s = r->s;
  const float *x = s->x;

  for (size_t i = 0; i < s->layers; i++) {
    const layer *l = &s->layer[i];

    v->a[i] = forwards(r, l, x, i == 2 || !s->blocks);
    if (i < 2 && s->blocks) {
      keep(r, "output", "m", i, l->shape, v->a[i]);
      add_biases(r, l, v->a[i]);
    }
    keep(r, "output", "a", i, l->shape, v->a[i]);
    if (i + 1 == s->layers)
      break;
    v->r[i] = where_positive(v->a[i], v->a[i], s->n * l->n_out);
    keep(r, "output", "r", i, l->shape, v->r[i]);
    x = v->r[i];
    if (i == 0 && s->pool > 0) {
      memcpy(v->pooled, (long[]){l->shape[0], pooled(s, l->shape[1]), pooled(s, l->shape[2]), SHAPE_END}, sizeof v->pooled);
      v->winner = calloc(s->n * s->layer[1].n_in, sizeof *v->winner);
      v->q = pool(r, x, l->shape, v->pooled, v->winner);
      keep(r, "output", "q", 0, v->pooled, v->q);
      x = v->q;
    }
    if (i == 1)
      keep(r, "output", "f", 1, SHAPE((long)l->n_out,), v->r[i]);
  }
}

static float *
unpool(const record *r, const activations *v, const float *g)
{
  double *sum = calloc(r->s->n * r->s->layer[0].n_out + 1, sizeof *sum);

  for (size_t e = 0; e < r->s->n * r->s->layer[1].n_in; e++)
    add(&sum[v->winner[e]], r->how, g[e], 1);
  return rounded(sum, r->s->n * r->s->layer[0].n_out);
}

static void
keep_parameter(record *r, char kind, size_t i, const long *shape, double *sum, size_t n)
{
  float *numbers = rounded(sum, n);
  char name[24];

  snprintf(name, sizeof name, "%c%zu", kind, i);
  put(&r->gradients, r, name, shape, numbers);
  free(numbers);
}

static void
record_backwards(record *r, activations *v, float *g)
{
  const net *s = r->s;
  double *gw = NULL;

  for (size_t i = s->layers; i-- > 0;) {
    const layer *l = &s->layer[i];
    const float *x = i == 0 ? s->x : i == 1 && s->pool > 0 ? v->q : v->r[i - 1];
    double *gb;
    float *to;

    keep(r, "gradient", "a", i, l->shape, g);
    if (i < 2 && s->blocks)
      keep(r, "gradient", "m", i, l->shape, g);
    gw = gw != NULL ? gw : calloc(l->n_weights + 1, sizeof *gw);
    gb = calloc(l->n_biases + 1, sizeof *gb);
    to = backwards(r, l, g, x, gw, gb);
    free(g);
    keep_parameter(r, 'b', i, l->biases, gb, l->n_biases);
    if (l->owned) {
      keep_parameter(r, 'w', i, l->weights, gw, l->n_weights);
      gw = NULL;
    }
    g = to;
    if (i == 2)
      keep(r, "gradient", "f", 1, SHAPE((long)l->n_in,), g);
    if (i == 1 && s->pool > 0) {
      keep(r, "gradient", "q", 0, v->pooled, g);
      to = unpool(r, v, g);
      free(g);
      g = to;
    }
    if (i > 0) {
      keep(r, "gradient", "r", i - 1, s->layer[i - 1].shape, g);
      to = where_positive(g, v->a[i - 1], s->n * s->layer[i - 1].n_out);
      free(g);
      g = to;
    }
  }
  free(g);
}

void
make_record(record *r)
{
  const size_t entries = r->s->n * 3;
  float *g = calloc(entries + 1, sizeof *g);
  activations v = {0};

  clarke_tensors_init(&r->trace);
  clarke_tensors_init(&r->gradients);
  record_forwards(r, &v);
  for (size_t e = 0; e < entries; e++)
    g[e] = (float)(v.a[2][e] - r->s->y[e]) * (float)(2 / (double)entries);
  record_backwards(r, &v, g);
  for (size_t i = 0; i < LAYERS; i++) {
    free(v.a[i]);
    free(v.r[i]);
  }
  free(v.q);
  free(v.winner);
  qsort(r->trace.tensor, r->trace.n, sizeof *r->trace.tensor, by_name);
  qsort(r->gradients.tensor, r->gradients.n, sizeof *r->gradients.tensor, by_name);
}

void
clear_record(record *r)
{
  clarke_tensors_clear(&r->trace);
  clarke_tensors_clear(&r->gradients);
}
