#include "forge_network_grow.h"

#include "../network/models.h"

/* --- names, weights, instructions ------------------------------------------------------------------- */

double
draw_weight(uint64_t *state)
{
  static const double some[] = {-2, -1, -1, -1, -0.5, 0, 0, 0, 0.5, 1, 1, 1, 2};

  return some[draw_below(state, sizeof some / sizeof *some)];
}

static double
draw_input(uint64_t *state)
{
  static const double some[] = {-2, -1, -1, 0, 0.5, 1, 1, 2};

  return some[draw_below(state, sizeof some / sizeof *some)];
}

static void
name_next(char *name, network *net, char letter)
{
  snprintf(name, 16, "%c%zu", letter, net->n_names++);
}

static size_t
put_action(network *net, action what, size_t n, const size_t *in)
{
  return formula_put(&net->f, (instruction){.what = what, .slope = NOWHERE}, n, in);
}

static size_t
put_linear(network *net, size_t n, const size_t *in, const small *coef, small number)
{
  small *copy = malloc((n + 1) * sizeof *copy);

  for (size_t i = 0; i < n; i++)
    copy[i] = coef != NULL ? coef[i] : (small){1, 1};
  return formula_put(&net->f, (instruction){.what = DO_LINEAR, .coef = copy, .number = number, .slope = NOWHERE}, n,
                     in);
}

static size_t
put_number(network *net, double x)
{
  return formula_put(&net->f, (instruction){.what = DO_NUMBER, .real = x, .slope = NOWHERE}, 0, NULL);
}

static size_t
put_product(network *net, size_t a, size_t b)
{
  return put_action(net, DO_PRODUCT, 2, (size_t[]){a, b});
}

/* A new tensor of drawn numbers, whose index in the model is returned. */
static size_t
new_tensor(network *net, const char *name, const long *shape, role r)
{
  size_t t = net->m.n_tensors;
  double *v = model_floats(&net->m, name, shape);

  net->base[t] = net->n_weights;
  net->role[t] = r;
  for (size_t e = 0; e < net->m.tensors[t].count && net->n_weights < MOST_WEIGHTS; e++)
    net->claim.weight[net->n_weights++] = v[e] = draw_weight(net->state);
  return t;
}

static void
set_entry(network *net, size_t t, size_t e, double x)
{
  net->m.tensors[t].real[e] = x;
  if (net->base[t] + e < MOST_WEIGHTS) /* else it is too large a network */
    net->claim.weight[net->base[t] + e] = x;
}

/* An earlier weight of the shape, or a new one. */
static size_t
some_weight(network *net, const long *shape)
{
  char name[16];

  for (size_t t = 0; t < net->m.n_tensors; t++) {
    const clarke_tensor *w = &net->m.tensors[t];
    bool fits = net->role[t] == IS_WEIGHT && w->rank == shape_rank(shape);

    for (size_t a = 0; fits && a < w->rank; a++)
      fits = w->dims[a] == (size_t)shape[a];
    if (fits && draw_below(net->state, 3) == 0)
      return t;
  }
  name_next(name, net, 'w');
  return new_tensor(net, name, shape, IS_WEIGHT);
}

static size_t
put_weight(network *net, size_t tensor, size_t e)
{
  return formula_put(&net->f, (instruction){.what = DO_WEIGHT, .weight = net->base[tensor] + e, .slope = NOWHERE}, 0,
                     NULL);
}

/* --- nodes -------------------------------------------------------------------------------------------- */

static size_t
row_of(const activation *a)
{
  return a->dims[0] * (a->rank > 1 ? a->dims[1] : 1);
}

/* The next node, of the activation and what `more` says; what it computes is then to be filled in. */
static clarke_model_node *
next_node(network *net, activation *next, const char *op, const char *more)
{
  char in[128];

  if (net->n_kept < MOST_KEPT)
    net->kept[net->n_kept++] = net->now;
  snprintf(in, sizeof in, "%s%s%s", net->now.at, *more != '\0' ? "," : "", more);
  *next = net->now;
  name_next(next->at, net, 'z');
  return model_node(&net->m, op, in, next->at);
}

static bool
has_room(const network *net, size_t row)
{
  return row > 0 && row <= MOST_ROW && net->m.n_nodes < 24 && net->m.n_tensors < 24 && net->n_weights < 48;
}

/* Each sample's entry f is what `make` says of entry f of the activation before. */
static void
map_entries(network *net, activation *next, size_t (*make)(network *net, size_t x, size_t f, size_t w), size_t w)
{
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(next); f++)
      next->y[s][f] = make(net, net->now.y[s][f], f, w);
  net->now = *next;
}

static size_t
plus_entry(network *net, size_t x, size_t f, size_t w)
{
  return put_linear(net, 2, (size_t[]){x, put_weight(net, w, f)}, NULL, (small){0, 1});
}

static size_t
times_entry(network *net, size_t x, size_t f, size_t w)
{
  return put_product(net, x, put_weight(net, w, f));
}

static size_t
over_entry(network *net, size_t x, size_t f, size_t w)
{
  return put_product(net, x, put_action(net, DO_INVERSE, 1, (size_t[]){put_weight(net, w, f)}));
}

/* Add, Mul or Div by a weight of the activation's shape. */
static void
grow_arithmetic(network *net, char op)
{
  activation next;
  long shape[] = {(long)net->now.dims[0], net->now.rank > 1 ? (long)net->now.dims[1] : SHAPE_END, SHAPE_END};
  size_t w = some_weight(net, shape);

  for (size_t e = 0; op == 'D' && e < net->m.tensors[w].count; e++)
    if (net->m.tensors[w].real[e] == 0)
      set_entry(net, w, e, 1);
  next_node(net, &next, op == 'A' ? "Add" : op == 'M' ? "Mul" : "Div", net->m.tensors[w].name);
  map_entries(net, &next, op == 'A' ? plus_entry : op == 'M' ? times_entry : over_entry, w);
}

/* x W, or alpha x W' + beta b. */
static void
grow_dense_of(network *net, size_t outputs, bool gemm)
{
  static const small factors[] = {{1, 1}, {1, 1}, {2, 1}, {-1, 1}, {1, 2}};
  size_t inputs = row_of(&net->now), w, b;
  bool turned = gemm && draw_below(net->state, 2);
  small alpha = gemm ? factors[draw_below(net->state, 5)] : factors[0], beta = factors[draw_below(net->state, 5)];
  activation next;
  char more[40];

  w = some_weight(net, turned ? SHAPE((long)outputs, (long)inputs,) : SHAPE((long)inputs, (long)outputs,));
  strcpy(more, net->m.tensors[w].name);
  b = gemm ? some_weight(net, SHAPE((long)outputs,)) : 0;
  if (gemm)
    snprintf(more, sizeof more, "%s,%s", net->m.tensors[w].name, net->m.tensors[b].name);
  clarke_model_node *node = next_node(net, &next, gemm ? "Gemm" : "MatMul", more);
  next.dims[0] = outputs;
  if (gemm) {
    attr_float(node, "alpha", (double)alpha.n / (double)alpha.d);
    attr_float(node, "beta", (double)beta.n / (double)beta.d);
    attr_int(node, "transB", turned);
  }
  for (size_t s = 0; s < net->samples; s++)
    for (size_t o = 0; o < outputs; o++) {
      size_t in[MOST_ROW + 1], n = 0;
      small coef[MOST_ROW + 1];

      for (; n < inputs; n++) {
        in[n] = put_product(net, net->now.y[s][n], put_weight(net, w, turned ? o * inputs + n : n * outputs + o));
        coef[n] = alpha;
      }
      if (gemm) {
        in[n] = put_weight(net, b, o);
        coef[n++] = beta;
      }
      next.y[s][o] = put_linear(net, n, in, coef, (small){0, 1});
    }
  net->now = next;
}

static void
grow_dense(network *net, size_t outputs)
{
  grow_dense_of(net, outputs, draw_below(net->state, 2));
}

/* --- pointwise ------------------------------------------------------------------------------------------ */

static const bends halves = {1, 0, {{0, 1}, {0, 1}},
                              {{{0, 1}, {0, 1}, {0, 1}}, {{0, 1}, {1, 1}, {0, 1}}, {{0, 1}, {0, 1}, {0, 1}}}};

static void
bound_clip(network *net, char *in, bends *p, bool low, bool high)
{
  char name[2][16] = {"", ""};
  long at[2] = {draw_between(net->state, -1, 0), draw_between(net->state, 1, 2)};

  *p = halves;
  p->n_kinks = (size_t)low + high;
  p->first = !low;
  p->coef[0][1] = p->coef[1][1] = (small){0, 1};
  p->coef[low][1] = (small){1, 1};
  for (size_t i = 0; i < 2; i++) {
    if (!(i == 0 ? low : high))
      continue;
    name_next(name[i], net, 'c');
    net->role[net->m.n_tensors] = IS_OTHER;
    model_floats(&net->m, name[i], SHAPE())[0] = (double)at[i];
    p->kink[i == 0 || !low ? 0 : 1] = (small){at[i], 1};
    p->coef[i == 0 ? 0 : p->n_kinks][0] = (small){at[i], 1};
  }
  snprintf(in, 40, "%s%s%s", name[0], high ? "," : "", name[1]);
}

/* alpha x + 1/2 between 0 and 1; with 1/6 the attribute is float32's. */
static void
bend_hard(bends *p, bool sixth, bool swish)
{
  long a = sixth ? 6 : 2;

  *p = halves;
  p->n_kinks = 2;
  p->kink[0] = (small){-a / 2, 1};
  p->kink[1] = (small){a / 2, 1};
  if (swish) {
    p->coef[1][1] = (small){1, 2};
    p->coef[1][2] = (small){1, a};
    p->coef[2][1] = (small){1, 1};
    return;
  }
  p->coef[1][0] = (small){1, 2};
  p->coef[1][1] = (small){1, a};
  p->coef[2][0] = (small){1, 1};
}

static void
put_pieces(network *net, activation *next, pointwise op, const bends *p, size_t slope)
{
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(next); f++) {
      instruction i = {.what = DO_PIECES, .pieces = *p, .operator = op, .node = net->m.n_nodes - 1, .feature = f,
                       .sample = s, .slope = NOWHERE};

      if (slope != NOWHERE)
        i.slope = put_weight(net, slope, f);
      next->y[s][f] = formula_put(&net->f, i, 1, &net->now.y[s][f]);
    }
  net->now = *next;
}

static void
grow_kink(network *net)
{
  static const pointwise often[] = {RELU, RELU, RELU, ABS, LEAKYRELU, LEAKYRELU, CLIP, HARDSIGMOID, PRELU, PRELU, HARDSWISH};
  static const small alphas[] = {{1, 2}, {2, 1}, {-1, 1}, {1, 4}, {0, 1}, {1, 1}};
  pointwise op = often[draw_below(net->state, 11)];
  bends p = halves;
  char more[40] = "";
  small alpha = alphas[draw_below(net->state, 6)];
  size_t slope = NOWHERE, bounds = draw_below(net->state, 3);
  bool sixth = op == HARDSWISH || draw_below(net->state, 2);
  activation next;
  clarke_model_node *node;

  if (op == CLIP)
    bound_clip(net, more, &p, bounds != 1, bounds != 2);
  if (op == HARDSIGMOID || op == HARDSWISH)
    bend_hard(&p, sixth, op == HARDSWISH);
  if (op == ABS)
    p.coef[0][1] = (small){-1, 1};
  if (op == LEAKYRELU)
    p.coef[0][1] = alpha;
  if (op == PRELU) {
    long shape[] = {(long)net->now.dims[0], net->now.rank > 1 ? (long)net->now.dims[1] : SHAPE_END, SHAPE_END};

    slope = some_weight(net, shape);
    strcpy(more, net->m.tensors[slope].name);
  }
  node = next_node(net, &next, operator_name[op], more);
  if (op == LEAKYRELU)
    attr_float(node, "alpha", (double)alpha.n / (double)alpha.d);
  if (op == HARDSIGMOID)
    attr_float(node, "alpha", sixth ? (double)(1.0f / 6.0f) : 0.5);
  put_pieces(net, &next, op, &p, slope);
}

/* --- analytic -------------------------------------------------------------------------------------------- */

/* 1 / (1 + exp(-times x)) */
static size_t
put_sigmoid(network *net, size_t x, long times)
{
  size_t e = put_action(net, DO_EXP, 1, (size_t[]){put_linear(net, 1, &x, (small[]){{-times, 1}}, (small){0, 1})});

  return put_action(net, DO_INVERSE, 1, (size_t[]){put_linear(net, 1, &e, NULL, (small){1, 1})});
}

static size_t
sigmoid_entry(network *net, size_t x, size_t f, size_t tanh)
{
  size_t y = put_sigmoid(net, x, tanh ? 2 : 1);

  (void)f;
  return tanh ? put_linear(net, 1, &y, (small[]){{2, 1}}, (small){-1, 1}) : y;
}

/* log of the sum of the exponentials */
static size_t
put_log_sum(network *net, const size_t *x, size_t n)
{
  size_t e[MOST_ROW], sum;

  for (size_t k = 0; k < n; k++)
    e[k] = put_action(net, DO_EXP, 1, &x[k]);
  sum = put_linear(net, n, e, NULL, (small){0, 1});
  return put_action(net, DO_LOG, 1, &sum);
}

/* exp(x), or log(1 + exp(x)) */
static size_t
exponential_entry(network *net, size_t x, size_t f, size_t softplus)
{
  size_t e = put_action(net, DO_EXP, 1, &x);

  (void)f;
  if (!softplus)
    return e;
  e = put_linear(net, 1, &e, NULL, (small){1, 1});
  return put_action(net, DO_LOG, 1, &e);
}

static size_t
inside_entry(network *net, size_t x, size_t f, size_t which)
{
  (void)f;
  return put_action(net, which == 0 ? DO_INVERSE : which == 1 ? DO_ROOT : DO_LOG, 1, &x);
}

/* A quotient, root or logarithm of exp(x); or the activation over that. */
static void
grow_inside(network *net)
{
  static const char *const ops[] = {"Reciprocal", "Sqrt", "Log"};
  const size_t which = draw_below(net->state, 4);
  const activation before = net->now;
  activation next;

  next_node(net, &next, "Exp", "");
  map_entries(net, &next, exponential_entry, 0);
  if (which < 3) {
    next_node(net, &next, ops[which], "");
    map_entries(net, &next, inside_entry, which);
    return;
  }
  const activation by = net->now;
  net->now = before;
  next_node(net, &next, "Div", by.at);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++)
      next.y[s][f] = put_product(net, before.y[s][f], put_action(net, DO_INVERSE, 1, &by.y[s][f]));
  net->now = next;
}

static void
grow_analytic(network *net)
{
  size_t which = draw_below(net->state, 8), n = row_of(&net->now);
  activation next;

  if (which > 5) {
    grow_inside(net);
    return;
  }

  if (which > 3) {
    next_node(net, &next, which == 4 ? "Exp" : "Softplus", "");
    map_entries(net, &next, exponential_entry, which == 5);
    return;
  }
  if (which < 2 || net->now.rank > 1) {
    bool tanh = which & 1;

    next_node(net, &next, tanh ? "Tanh" : "Sigmoid", "");
    map_entries(net, &next, sigmoid_entry, tanh);
    return;
  }
  next_node(net, &next, which == 2 ? "Softmax" : "LogSoftmax", "");
  for (size_t s = 0; s < net->samples; s++) {
    size_t log = put_log_sum(net, net->now.y[s], n);

    for (size_t f = 0; f < n; f++) {
      size_t y = put_linear(net, 2, (size_t[]){net->now.y[s][f], log}, (small[]){{1, 1}, {-1, 1}}, (small){0, 1});

      next.y[s][f] = which == 2 ? put_action(net, DO_EXP, 1, &y) : y;
    }
  }
  net->now = next;
}

/* --- shapes ------------------------------------------------------------------------------------------------ */

static void
grow_flatten(network *net)
{
  activation next;

  next_node(net, &next, "Flatten", "");
  next.rank = 1;
  next.dims[0] = row_of(&net->now);
  net->now = next;
}

/* Of the rank-2 activation along its last axis. */
static void
grow_pad(network *net)
{
  activation next;
  char pads[16];
  int64_t *by;
  size_t before = draw_below(net->state, 2), after = 1 - before, length = net->now.dims[1];
  size_t nothing = put_number(net, 0);

  name_next(pads, net, 's');
  net->role[net->m.n_tensors] = IS_OTHER;
  by = model_integers(&net->m, pads, SHAPE(6,));
  by[2] = (int64_t)before;
  by[5] = (int64_t)after;
  next_node(net, &next, "Pad", pads);
  next.dims[1] = length + 1;
  for (size_t s = 0; s < net->samples; s++)
    for (size_t c = 0; c < next.dims[0]; c++)
      for (size_t l = 0; l <= length; l++)
        next.y[s][c * (length + 1) + l] =
          l < before || l - before >= length ? nothing : net->now.y[s][c * length + l - before];
  net->now = next;
}

/* An earlier activation of the same shape; the one at hand, when there is none. */
static const activation *
some_kept(network *net)
{
  for (size_t k = 0; k < net->n_kept; k++) {
    const activation *a = &net->kept[k];

    if (a->rank == net->now.rank && row_of(a) == row_of(&net->now) && a->dims[0] == net->now.dims[0] &&
        draw_below(net->state, 2))
      return a;
  }
  return &net->now;
}

static void
grow_residual(network *net)
{
  const activation other = *some_kept(net);
  static const char *const ops[] = {"Add", "Sub", "Mul"};
  size_t op = draw_below(net->state, 3);
  activation next;

  next_node(net, &next, ops[op], other.at);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++)
      next.y[s][f] = op == 2 ? put_product(net, net->now.y[s][f], other.y[s][f])
                             : put_linear(net, 2, (size_t[]){net->now.y[s][f], other.y[s][f]},
                                          (small[]){{1, 1}, {op == 1 ? -1 : 1, 1}}, (small){0, 1});
  net->now = next;
}

static void
grow_concat(network *net)
{
  const activation other = *some_kept(net);
  size_t n = row_of(&net->now);
  activation next;
  clarke_model_node *node = next_node(net, &next, "Concat", other.at);

  attr_int(node, "axis", 1);
  next.dims[0] *= 2;
  for (size_t s = 0; s < net->samples; s++)
    memcpy(next.y[s] + n, other.y[s], n * sizeof *other.y[s]);
  net->now = next;
}

/* --- windows ------------------------------------------------------------------------------------------------ */

/* Along one axis: of `input` entries `length` places. */
typedef struct {
  size_t input, kernel, stride, dilation, before, after, length;
} sliding;

/* Over rows and columns; a line has one row. */
typedef struct {
  sliding tall, wide;
  bool flat; /* a line: nothing is said of rows */
} plane;

static bool
draw_sliding(sliding *w, network *net, size_t input, bool pads, bool dilated)
{
  size_t reach;

  w->input = input;
  w->kernel = 1 + draw_below(net->state, 2) + draw_below(net->state, 4) / 3;
  w->stride = 1 + draw_below(net->state, 2);
  w->dilation = dilated && draw_below(net->state, 6) == 0 ? 2 : 1;
  w->before = pads && w->kernel > 1 && draw_below(net->state, 4) == 0;
  w->after = pads && w->kernel > 1 && draw_below(net->state, 4) == 0;
  reach = (w->kernel - 1) * w->dilation + 1;
  if (reach > input + w->before + w->after)
    return false;
  w->length = (input + w->before + w->after - reach) / w->stride + 1;
  return true;
}

/* Of the activation's last axis as so many rows. */
static bool
draw_plane(plane *p, network *net, size_t rows, bool pads, bool dilated)
{
  size_t length = net->now.dims[1];

  p->flat = rows == 0;
  p->tall = (sliding){1, 1, 1, 1, 0, 0, 1};
  return (p->flat || draw_sliding(&p->tall, net, rows, pads, dilated)) &&
         draw_sliding(&p->wide, net, p->flat ? length : length / rows, pads, dilated);
}

static void
attr_pairs(clarke_model_node *node, const char *name, const plane *p, size_t tall, size_t wide)
{
  if (p->flat)
    attr_ints(node, name, SHAPE((long)wide,));
  else
    attr_ints(node, name, SHAPE((long)tall, (long)wide,));
}

static void
attr_plane(clarke_model_node *node, const plane *p)
{
  attr_pairs(node, "kernel_shape", p, p->tall.kernel, p->wide.kernel);
  attr_pairs(node, "strides", p, p->tall.stride, p->wide.stride);
  if (p->tall.dilation > 1 || p->wide.dilation > 1)
    attr_pairs(node, "dilations", p, p->tall.dilation, p->wide.dilation);
  if (p->flat)
    attr_ints(node, "pads", SHAPE((long)p->wide.before, (long)p->wide.after,));
  else
    attr_ints(node, "pads",
              SHAPE((long)p->tall.before, (long)p->wide.before, (long)p->tall.after, (long)p->wide.after,));
}

static size_t
places(const plane *p)
{
  return p->tall.length * p->wide.length;
}

/* Where tap i of place l lies along an axis; NOWHERE in the padding. */
static size_t
tap_along(const sliding *w, size_t l, size_t i)
{
  size_t at = l * w->stride + i * w->dilation;

  return at < w->before || at - w->before >= w->input ? NOWHERE : at - w->before;
}

/* Of a channel: tap i of place l. */
static size_t
tap(const plane *p, size_t l, size_t i)
{
  size_t row = tap_along(&p->tall, l / p->wide.length, i / p->wide.kernel);
  size_t column = tap_along(&p->wide, l % p->wide.length, i % p->wide.kernel);

  return row == NOWHERE || column == NOWHERE ? NOWHERE : row * p->wide.input + column;
}

/* The taps of place l of channel c that are no padding, as entries of the row; how many. */
static size_t
taps(size_t *from, const network *net, const plane *p, size_t c, size_t l)
{
  size_t n = 0;

  for (size_t i = 0; i < p->tall.kernel * p->wide.kernel; i++)
    if (tap(p, l, i) != NOWHERE)
      from[n++] = c * net->now.dims[1] + tap(p, l, i);
  return n;
}

/* Some place of a dilated window may read padding alone. */
static bool
reads_padding_alone(const network *net, const plane *p)
{
  size_t from[MOST_ROW];

  for (size_t l = 0; l < places(p); l++)
    if (taps(from, net, p, 0, l) == 0)
      return true;
  return false;
}

typedef struct {
  size_t weight, bias, outputs, groups;
} filter_bank;

static size_t
put_convolved(network *net, const plane *p, const filter_bank *w, size_t s, size_t o, size_t l)
{
  size_t in[MOST_ROW * 9 + 1], n = 0, channels = net->now.dims[0] / w->groups;
  size_t kernel = p->tall.kernel * p->wide.kernel, first = o / (w->outputs / w->groups) * channels;

  for (size_t c = 0; c < channels; c++)
    for (size_t i = 0; i < kernel; i++) {
      size_t at = tap(p, l, i);

      if (at != NOWHERE)
        in[n++] = put_product(net, net->now.y[s][(first + c) * net->now.dims[1] + at],
                              put_weight(net, w->weight, (o * channels + c) * kernel + i));
    }
  if (w->bias != NOWHERE)
    in[n++] = put_weight(net, w->bias, o);
  return put_linear(net, n, in, NULL, (small){0, 1});
}

/* The activation's last axis is read as so many rows; 0: it is a line. */
static void
grow_conv_of(network *net, size_t outputs, size_t rows)
{
  plane p;
  filter_bank w = {.bias = NOWHERE, .outputs = outputs};
  size_t channels = net->now.dims[0];
  char more[40];
  activation next;
  clarke_model_node *node;

  if (!draw_plane(&p, net, rows, true, true) || outputs * places(&p) > MOST_ROW)
    return;
  w.groups = channels == outputs && draw_below(net->state, 3) == 0 ? channels : 1;
  w.weight = some_weight(net, p.flat ? SHAPE((long)outputs, (long)(channels / w.groups), (long)p.wide.kernel,)
                                     : SHAPE((long)outputs, (long)(channels / w.groups), (long)p.tall.kernel,
                                             (long)p.wide.kernel,));
  strcpy(more, net->m.tensors[w.weight].name);
  if (draw_below(net->state, 2)) {
    w.bias = some_weight(net, SHAPE((long)outputs,));
    snprintf(more, sizeof more, "%s,%s", net->m.tensors[w.weight].name, net->m.tensors[w.bias].name);
  }
  node = next_node(net, &next, "Conv", more);
  attr_plane(node, &p);
  if (w.groups > 1)
    attr_int(node, "group", (long)w.groups);
  next.dims[0] = outputs;
  next.dims[1] = places(&p);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++)
      next.y[s][f] = put_convolved(net, &p, &w, s, f / next.dims[1], f % next.dims[1]);
  net->now = next;
}

static void
grow_conv(network *net, size_t outputs)
{
  grow_conv_of(net, outputs, 0);
}

/* The largest of n instructions, which are the entries `from` of what the window reads. */
static size_t
put_window(network *net, pool op, size_t sample, size_t feature, size_t round, size_t n, const size_t *in, const size_t *from)
{
  instruction i = {.what = DO_LARGEST, .operator = op, .node = net->m.n_nodes - 1, .round = round, .feature = feature,
                   .sample = sample, .slope = NOWHERE, .from = malloc((n + 1) * sizeof *from)};

  memcpy(i.from, from, n * sizeof *from);
  return formula_put(&net->f, i, n, in);
}

static size_t
put_largest(network *net, pool op, size_t sample, size_t feature, size_t n, const size_t *from)
{
  size_t in[MOST_ROW];

  for (size_t k = 0; k < n; k++)
    in[k] = net->now.y[sample][from[k]];
  return put_window(net, op, sample, feature, 0, n, in, from);
}

static void
grow_maxpool_of(network *net, size_t rows)
{
  plane p;
  bool global = rows == 0 && draw_below(net->state, 2);
  size_t length = net->now.dims[1];
  activation next;

  if (global)
    p = (plane){{1, 1, 1, 1, 0, 0, 1}, {length, length, 1, 1, 0, 0, 1}, true};
  else if (!draw_plane(&p, net, rows, true, true) || p.tall.kernel * p.wide.kernel == 1)
    return;
  if (net->now.dims[0] * places(&p) > MOST_ROW || reads_padding_alone(net, &p))
    return;
  if (global)
    next_node(net, &next, "GlobalMaxPool", "");
  else
    attr_plane(next_node(net, &next, "MaxPool", ""), &p);
  next.dims[1] = places(&p);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++) {
      size_t from[MOST_ROW], n = taps(from, net, &p, f / next.dims[1], f % next.dims[1]);

      next.y[s][f] = put_largest(net, global ? GLOBALMAXPOOL : MAXPOOL, s, f, n, from);
    }
  net->now = next;
}

static void
grow_maxpool(network *net)
{
  grow_maxpool_of(net, 0);
}

static void
grow_average_of(network *net, size_t rows)
{
  plane p;
  bool padding = draw_below(net->state, 2);
  activation next;
  clarke_model_node *node;

  if (!draw_plane(&p, net, rows, true, false) || net->now.dims[0] * places(&p) > MOST_ROW)
    return;
  node = next_node(net, &next, "AveragePool", "");
  attr_plane(node, &p);
  attr_int(node, "count_include_pad", padding);
  next.dims[1] = places(&p);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++) {
      size_t from[MOST_ROW], n = taps(from, net, &p, f / next.dims[1], f % next.dims[1]), sum;
      long count = padding ? (long)(p.tall.kernel * p.wide.kernel) : (long)n;

      for (size_t k = 0; k < n; k++)
        from[k] = net->now.y[s][from[k]];
      sum = put_linear(net, n, from, NULL, (small){0, 1});
      next.y[s][f] = put_linear(net, 1, &sum, (small[]){{1, count}}, (small){0, 1});
    }
  net->now = next;
}

/* Reshapes to the axes given behind the samples; what the activation counts as its axes stays. */
static void
grow_reshape(network *net, const long *axes)
{
  activation next;
  char shape[16];
  int64_t *dims;
  size_t rank = shape_rank(axes);

  name_next(shape, net, 's');
  net->role[net->m.n_tensors] = IS_OTHER;
  dims = model_integers(&net->m, shape, SHAPE((long)rank + 1,));
  for (size_t a = 0; a < rank; a++)
    dims[a + 1] = axes[a];
  next_node(net, &next, "Reshape", shape);
  net->now = next;
}

static void
grow_channels(network *net, size_t channels)
{
  long length = (long)(net->now.dims[0] / channels);

  grow_reshape(net, SHAPE((long)channels, length,));
  net->now.rank = 2;
  net->now.dims[0] = channels;
  net->now.dims[1] = (size_t)length;
}

/* Lines taken for pictures of two or more rows, convolved or pooled as such, and made lines again. */
static void
grow_picture(network *net)
{
  size_t length = net->now.dims[1], rows = length % 3 == 0 ? 3 : length % 2 == 0 ? 2 : 1, kept;

  grow_reshape(net, SHAPE((long)net->now.dims[0], (long)rows, (long)(length / rows),));
  kept = net->n_kept;
  switch (draw_below(net->state, 3)) {
  case 0:
    grow_maxpool_of(net, rows);
    break;
  case 1:
    grow_average_of(net, rows);
    break;
  default:
    grow_conv_of(net, 1 + draw_below(net->state, 2), rows);
  }
  grow_reshape(net, SHAPE((long)net->now.dims[0], (long)net->now.dims[1],));
  net->n_kept = kept; /* pictures are no operands of lines */
}

static void
grow_mean(network *net)
{
  size_t length = net->now.dims[1];
  activation next;

  next_node(net, &next, "GlobalAveragePool", "");
  next.dims[1] = 1;
  for (size_t s = 0; s < net->samples; s++)
    for (size_t c = 0; c < next.dims[0]; c++) {
      size_t sum = put_linear(net, length, &net->now.y[s][c * length], NULL, (small){0, 1});

      next.y[s][c] = put_linear(net, 1, &sum, (small[]){{1, (long)length}}, (small){0, 1});
    }
  net->now = next;
}

/* --- the largest of several -------------------------------------------------------------------------------------- */

static size_t
put_minus(network *net, size_t x)
{
  return put_linear(net, 1, &x, (small[]){{-1, 1}}, (small){0, 1});
}

/* Max or Min of the activation, an earlier one and, sometimes, a weight of its shape. */
static void
grow_extreme(network *net)
{
  const activation other = *some_kept(net);
  const bool least = draw_below(net->state, 2), third = draw_below(net->state, 2);
  const long shape[] = {(long)net->now.dims[0], net->now.rank > 1 ? (long)net->now.dims[1] : SHAPE_END, SHAPE_END};
  size_t w = third ? some_weight(net, shape) : NOWHERE, n = third ? 3 : 2;
  char more[40];
  activation next;

  snprintf(more, sizeof more, "%s%s%s", other.at, third ? "," : "", third ? net->m.tensors[w].name : "");
  next_node(net, &next, least ? "Min" : "Max", more);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++) {
      size_t in[3] = {net->now.y[s][f], other.y[s][f], third ? put_weight(net, w, f) : 0}, y;

      for (size_t i = 0; i < n && least; i++)
        in[i] = put_minus(net, in[i]);
      y = put_window(net, least ? MINIMUM : MAXIMUM, s, f, 0, n, in, (size_t[]){n * f, n * f + 1, n * f + 2});
      next.y[s][f] = least ? put_minus(net, y) : y;
    }
  net->now = next;
}

/* ReduceMax or ReduceMin over the last axis, which stays. */
static void
grow_reduced(network *net)
{
  const bool least = draw_below(net->state, 2);
  const size_t axis = net->now.rank - 1, length = net->now.dims[axis];
  activation next;

  attr_ints(next_node(net, &next, least ? "ReduceMin" : "ReduceMax", ""), "axes", SHAPE((long)axis + 1,));
  next.dims[axis] = 1;
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&next); f++) {
      size_t in[MOST_ROW], from[MOST_ROW], y;

      for (size_t i = 0; i < length; i++) {
        from[i] = f * length + i;
        in[i] = least ? put_minus(net, net->now.y[s][from[i]]) : net->now.y[s][from[i]];
      }
      y = put_window(net, least ? REDUCEMIN : REDUCEMAX, s, f, 0, length, in, from);
      next.y[s][f] = least ? put_minus(net, y) : y;
    }
  net->now = next;
}

/* The entries of a line of n in the order asked for: neighbours are compared in n rounds; the first `left` of a round are kept. */
static void
sort_line(network *net, size_t *x, size_t n, size_t k, bool least, size_t sample, size_t line)
{
  for (size_t r = 0; r < n; r++) {
    const size_t left = k + n - 1 - r < n ? k + n - 1 - r : n;
    size_t y[MOST_ROW];

    for (size_t p = 0; p < left; p++) {
      const bool upper = p % 2 == r % 2, alone = upper ? p + 1 == n : p == 0, minus = alone ? least : upper == least;
      const size_t f = line * left + p;
      size_t in[2] = {x[p], alone ? 0 : x[upper ? p + 1 : p - 1]};

      for (size_t i = 0; i < 2 && minus; i++)
        in[i] = alone && i == 1 ? 0 : put_minus(net, in[i]);
      y[p] = put_window(net, TOPK, sample, f, r, alone ? 1 : 2, in, (size_t[]){2 * f, 2 * f + 1});
      y[p] = minus ? put_minus(net, y[p]) : y[p];
    }
    memcpy(x, y, left * sizeof *x);
  }
}

/* TopK along the last axis. */
static void
grow_sorted(network *net)
{
  const bool least = draw_below(net->state, 2);
  const size_t axis = net->now.rank - 1, n = net->now.dims[axis], k = 1 + draw_below(net->state, n);
  const size_t lines = row_of(&net->now) / n;
  char name[16];
  activation next;
  clarke_model_node *node;

  name_next(name, net, 's');
  net->role[net->m.n_tensors] = IS_OTHER;
  model_integers(&net->m, name, SHAPE(1,))[0] = (int64_t)k;
  node = next_node(net, &next, "TopK", name);
  attr_int(node, "largest", !least);
  next.dims[axis] = k;
  for (size_t s = 0; s < net->samples; s++)
    for (size_t line = 0; line < lines; line++) {
      size_t x[MOST_ROW], from[MOST_ROW];

      for (size_t i = 0; i < n; i++) {
        from[i] = line * n + i;
        x[i] = net->now.y[s][from[i]];
        x[i] = least && k == 1 ? put_minus(net, x[i]) : x[i];
      }
      if (k == 1) {
        x[0] = put_window(net, TOPK, s, line, 0, n, x, from);
        x[0] = least ? put_minus(net, x[0]) : x[0];
      } else
        sort_line(net, x, n, k, least, s, line);
      memcpy(next.y[s] + line * k, x, k * sizeof *x);
    }
  net->now = next;
}

/* The entries of a line several times: each twice, one after another, by Resize; all of them again, by Tile; of one entry the same,
 * by Expand. */
static void
grow_repeated(network *net)
{
  const bool each = net->now.rank == 2 && draw_below(net->state, 2);
  const size_t axis = net->now.rank - 1, n = net->now.dims[axis], lines = row_of(&net->now) / n;
  const bool one = !each && n == 1;
  char name[16], more[40];
  activation next;

  name_next(name, net, 's');
  net->role[net->m.n_tensors] = IS_OTHER;
  if (each) {
    double *scale = model_floats(&net->m, name, SHAPE(3,));

    scale[0] = scale[1] = 1;
    scale[2] = 2;
    net->m.tensors[net->m.n_tensors - 1].dtype = CLARKE_F32;
  } else {
    int64_t *times = model_integers(&net->m, name, SHAPE((long)axis + 2,));

    for (size_t a = 0; a <= axis; a++)
      times[a] = 1;
    times[axis + 1] = 2;
  }
  snprintf(more, sizeof more, "%s%s", each ? "," : "", name);
  next_node(net, &next, each ? "Resize" : one ? "Expand" : "Tile", more);
  next.dims[axis] = 2 * n;
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < 2 * n * lines; f++) {
      const size_t p = f % (2 * n);

      next.y[s][f] = net->now.y[s][f / (2 * n) * n + (each ? p / 2 : p % n)];
    }
  net->now = next;
}

/* --- normalizations --------------------------------------------------------------------------------------------- */

/* Replaces n entries by (x - mean) / root of (variance + 1/4). */
static void
normalize(network *net, size_t *const *x, size_t n)
{
  size_t in[MOST_ROW * MOST_SAMPLES] = {0}, sum, mean, root;

  for (size_t k = 0; k < n; k++)
    in[k] = *x[k];
  sum = put_linear(net, n, in, NULL, (small){0, 1});
  mean = put_linear(net, 1, &sum, (small[]){{1, (long)n}}, (small){0, 1});
  for (size_t k = 0; k < n; k++) {
    *x[k] = put_linear(net, 2, (size_t[]){in[k], mean}, (small[]){{1, 1}, {-1, 1}}, (small){0, 1});
    in[k] = put_product(net, *x[k], *x[k]);
  }
  sum = put_linear(net, n, in, NULL, (small){0, 1});
  sum = put_linear(net, 1, &sum, (small[]){{1, (long)n}}, (small){1, 4});
  root = put_action(net, DO_ROOT, 1, &sum);
  root = put_action(net, DO_INVERSE, 1, &root);
  for (size_t k = 0; k < n; k++)
    *x[k] = put_product(net, *x[k], root);
}

static void
scale_and_shift(network *net, activation *next, size_t scale, size_t shift, size_t length)
{
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(next); f++) {
      next->y[s][f] = times_entry(net, next->y[s][f], f / length, scale);
      next->y[s][f] = plus_entry(net, next->y[s][f], f / length, shift);
    }
  net->now = *next;
}

static void
grow_layer_norm(network *net)
{
  size_t n = net->now.dims[0], scale = some_weight(net, SHAPE((long)n,)), shift = some_weight(net, SHAPE((long)n,));
  char more[40];
  activation next;

  snprintf(more, sizeof more, "%s,%s", net->m.tensors[scale].name, net->m.tensors[shift].name);
  attr_float(next_node(net, &next, "LayerNormalization", more), "epsilon", 0.25);
  for (size_t s = 0; s < net->samples; s++) {
    size_t *x[MOST_ROW];

    for (size_t f = 0; f < n; f++)
      x[f] = &next.y[s][f];
    normalize(net, x, n);
  }
  scale_and_shift(net, &next, scale, shift, 1);
}

/* Of each sample each channel, of the whole activation. */
static void
grow_instance_norm(network *net)
{
  size_t n = net->now.dims[0], length = net->now.dims[1];
  size_t scale = some_weight(net, SHAPE((long)n,)), shift = some_weight(net, SHAPE((long)n,));
  char more[40];
  activation next;

  snprintf(more, sizeof more, "%s,%s", net->m.tensors[scale].name, net->m.tensors[shift].name);
  attr_float(next_node(net, &next, "InstanceNormalization", more), "epsilon", 0.25);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t c = 0; c < n; c++) {
      size_t *x[MOST_ROW];

      for (size_t l = 0; l < length; l++)
        x[l] = &next.y[s][c * length + l];
      normalize(net, x, length);
    }
  scale_and_shift(net, &next, scale, shift, length);
}

static void
train_channels(network *net, activation *next, size_t length)
{
  for (size_t c = 0; c < next->dims[0]; c++) {
    size_t *x[MOST_ROW * MOST_SAMPLES], n = 0;

    for (size_t s = 0; s < net->samples; s++)
      for (size_t l = 0; l < length; l++)
        x[n++] = &next->y[s][c * length + l];
    normalize(net, x, n);
  }
}

/* The variance is 3/4 and epsilon 1/4, or the variance 2: an irrational root. */
static void
infer_channels(network *net, activation *next, size_t length, size_t mean, size_t var)
{
  for (size_t c = 0; c < next->dims[0]; c++)
    set_entry(net, var, c, draw_below(net->state, 4) == 0 ? 2 : 0.75);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(next); f++) {
      size_t x = put_linear(net, 2, (size_t[]){next->y[s][f], put_weight(net, mean, f / length)},
                            (small[]){{1, 1}, {-1, 1}}, (small){0, 1});
      size_t v = put_linear(net, 1, (size_t[]){put_weight(net, var, f / length)}, NULL, (small){1, 4});
      size_t root = put_action(net, DO_ROOT, 1, &v);

      next->y[s][f] = put_product(net, x, put_action(net, DO_INVERSE, 1, &root));
    }
}

static void
grow_batch_norm(network *net)
{
  size_t n = net->now.dims[0], length = net->now.rank > 1 ? net->now.dims[1] : 1;
  size_t scale = some_weight(net, SHAPE((long)n,)), shift = some_weight(net, SHAPE((long)n,)), mean, var;
  bool training = draw_below(net->state, 2);
  char name[2][16], more[80];
  activation next;

  name_next(name[0], net, 'm');
  name_next(name[1], net, 'v');
  mean = new_tensor(net, name[0], SHAPE((long)n,), IS_STATISTIC);
  var = new_tensor(net, name[1], SHAPE((long)n,), IS_STATISTIC);
  for (size_t c = 0; c < n; c++)
    set_entry(net, var, c, 0.75);
  snprintf(more, sizeof more, "%s,%s,%s,%s", net->m.tensors[scale].name, net->m.tensors[shift].name, name[0], name[1]);
  clarke_model_node *node = next_node(net, &next, "BatchNormalization", more);
  attr_float(node, "epsilon", 0.25);
  attr_int(node, "training_mode", training);
  if (training)
    train_channels(net, &next, length);
  else
    infer_channels(net, &next, length, mean, var);
  scale_and_shift(net, &next, scale, shift, length);
}

/* --- whole networks ----------------------------------------------------------------------------------------------- */

static void
grow_extra(network *net)
{
  size_t row = row_of(&net->now);

  switch (draw_below(net->state, 27)) {
  case 0:
    grow_arithmetic(net, 'A');
    break;
  case 1:
    grow_arithmetic(net, 'M');
    break;
  case 2:
    if (draw_below(net->state, 3) == 0)
      grow_arithmetic(net, 'D');
    break;
  case 3:
  case 4:
    grow_residual(net);
    break;
  case 5:
    if (2 * row <= MOST_ROW)
      grow_concat(net);
    break;
  case 6:
    grow_analytic(net);
    break;
  case 7:
    if (draw_below(net->state, 2))
      grow_batch_norm(net);
    break;
  case 8:
    if (net->now.rank == 1 && draw_below(net->state, 2))
      grow_layer_norm(net);
    else if (net->now.rank == 2 && draw_below(net->state, 2))
      grow_instance_norm(net);
    break;
  case 9:
    if (net->now.rank == 2 && row + net->now.dims[0] <= MOST_ROW)
      grow_pad(net);
    break;
  case 10:
    if (net->now.rank == 2)
      grow_mean(net);
    break;
  case 11:
  case 12:
    if (net->now.rank == 2 && net->now.dims[1] > 1)
      grow_picture(net);
    break;
  case 13:
    if (net->now.rank == 2)
      grow_average_of(net, 0);
    break;
  case 14:
  case 15:
    grow_extreme(net);
    break;
  case 16:
    grow_reduced(net);
    break;
  case 17:
    if (net->now.dims[net->now.rank - 1] <= 4)
      grow_sorted(net);
    break;
  case 18:
    if (2 * row <= MOST_ROW)
      grow_repeated(net);
    break;
  default:
    break;
  }
}

static void
grow_layer(network *net)
{
  if (net->now.rank == 1)
    grow_dense(net, 1 + draw_below(net->state, 3));
  else
    grow_conv(net, 1 + draw_below(net->state, 2));
  grow_extra(net);
  if (draw_below(net->state, 5) > 0)
    grow_kink(net);
  if (net->now.rank == 1 && net->now.dims[0] > 1 && draw_below(net->state, 6) == 0)
    grow_channels(net, 1);
  if (net->now.rank == 2 && net->now.dims[1] > 1 && draw_below(net->state, 2))
    grow_maxpool(net);
  if (net->now.rank == 2 && draw_below(net->state, 4) == 0)
    grow_flatten(net);
  grow_extra(net);
}

/* Filters at 0, which all samples touch, and a layer behind them. */
static void
grow_filters(network *net)
{
  size_t w;

  if (net->now.rank == 2)
    grow_conv(net, 1 + draw_below(net->state, 2));
  else
    grow_dense(net, 1 + draw_below(net->state, 2));
  w = net->m.n_tensors - 1;
  for (size_t t = 0; net->m.n_tensors > 0 && t <= w; t++)
    for (size_t e = 0; e < net->m.tensors[t].count; e++)
      set_entry(net, t, e, 0);
  grow_kink(net);
  if (net->now.rank == 2 && draw_below(net->state, 3) > 0)
    grow_maxpool(net);
  if (net->now.rank == 2)
    grow_flatten(net);
  if (draw_below(net->state, 4) > 0)
    grow_dense(net, 1 + draw_below(net->state, 3));
  if (draw_below(net->state, 4) == 0)
    grow_kink(net);
}

static void
set_zeros(network *net, size_t tensor)
{
  for (size_t e = 0; e < net->m.tensors[tensor].count; e++)
    set_entry(net, tensor, e, 0);
}

/* Weights of 0 behind others that move, too: what two samples ask then contradicts itself to first order alone. */
static void
grow_second_order(network *net)
{
  size_t first;

  if (net->now.rank == 2)
    grow_flatten(net);
  grow_dense_of(net, 1 + draw_below(net->state, 2), true);
  set_zeros(net, net->m.n_tensors - 1);
  if (draw_below(net->state, 3) == 0)
    grow_kink(net);
  first = net->m.n_tensors;
  grow_dense_of(net, 1 + draw_below(net->state, 2), draw_below(net->state, 4) == 0);
  for (size_t t = first; t < net->m.n_tensors; t++)
    set_zeros(net, t);
  if (net->now.dims[0] > 1 && draw_below(net->state, 2)) {
    grow_channels(net, 1);
    grow_maxpool(net);
    grow_flatten(net);
  } else {
    grow_kink(net);
  }
  if (draw_below(net->state, 2))
    grow_dense(net, 1 + draw_below(net->state, 2));
}

/* All weights from the last one on, while there is room. */
static void
take_last_weights(network *net)
{
  size_t entries = 0;

  memset(net->wrt, 0, sizeof net->wrt);
  for (size_t t = net->m.n_tensors; t-- > 0;) {
    size_t count = net->m.tensors[t].count;

    net->wrt[t] = net->role[t] == IS_WEIGHT && entries + count <= MOST_VARIABLES && draw_below(net->state, 5) > 0;
    entries += net->wrt[t] ? count : 0;
  }
  number_wrt(&net->claim, net);
}

static void
begin_input(network *net)
{
  bool line = draw_below(net->state, 2);
  static const size_t lengths[] = {2, 3, 4, 2, 3, 4, 6, 9};
  size_t dims[2] = {1 + draw_below(net->state, 2), lengths[draw_below(net->state, 8)]};

  net->now = (activation){.rank = line ? 2 : 1, .dims = {dims[0], line ? dims[1] : 1}};
  strcpy(net->now.at, "x");
  model_input(&net->m, "x", line ? SHAPE(-1, (long)dims[0], (long)dims[1],) : SHAPE(-1, (long)dims[0],));
  net->x = tensor_of("x", CLARKE_F64, line ? SHAPE((long)net->samples, (long)dims[0], (long)dims[1],)
                                           : SHAPE((long)net->samples, (long)dims[0],));
  for (size_t s = 0, e = 0; s < net->samples; s++)
    for (size_t f = 0; f < row_of(&net->now); f++, e++) {
      net->x.real[e] = draw_input(net->state);
      net->now.y[s][f] = put_number(net, net->x.real[e]);
    }
}

static void
end_with_targets(network *net)
{
  size_t n = row_of(&net->now), in[MOST_SAMPLES * MOST_ROW], sum;
  long shape[] = {(long)net->samples, (long)net->now.dims[0], net->now.rank > 1 ? (long)net->now.dims[1] : SHAPE_END,
                  SHAPE_END};

  net->y = tensor_of("y", CLARKE_F64, shape);
  for (size_t e = 0; e < net->y.count; e++) {
    long target = draw_between(net->state, -1, 2);
    size_t off = put_linear(net, 1, &net->now.y[e / n][e % n], NULL, (small){-target, 1});

    net->y.real[e] = (double)target;
    in[e] = put_product(net, off, off);
  }
  sum = put_linear(net, net->y.count, in, NULL, (small){0, 1});
  net->f.loss[LOSS_MSE] = put_linear(net, 1, &sum, (small[]){{1, (long)net->y.count}}, (small){0, 1});
}

static void
end_with_labels(network *net)
{
  size_t n = row_of(&net->now), in[MOST_SAMPLES], sum;

  net->y = tensor_of("y", CLARKE_I64, SHAPE((long)net->samples,));
  for (size_t s = 0; s < net->samples; s++) {
    size_t label = draw_below(net->state, n), log = put_log_sum(net, net->now.y[s], n);

    net->y.integer[s] = (int64_t)label;
    in[s] = put_linear(net, 2, (size_t[]){log, net->now.y[s][label]}, (small[]){{1, 1}, {-1, 1}}, (small){0, 1});
  }
  sum = put_linear(net, net->samples, in, NULL, (small){0, 1});
  net->f.loss[LOSS_CE] = put_linear(net, 1, &sum, (small[]){{1, (long)net->samples}}, (small){0, 1});
}

static void
end_network(network *net)
{
  size_t n = row_of(&net->now), in[MOST_SAMPLES * MOST_ROW];

  model_output(&net->m, net->now.at);
  for (size_t s = 0; s < net->samples; s++)
    memcpy(in + s * n, net->now.y[s], n * sizeof *in);
  net->f.loss[LOSS_MSE] = net->f.loss[LOSS_CE] = NOWHERE;
  net->f.loss[LOSS_SUM] = put_linear(net, net->samples * n, in, NULL, (small){0, 1});
  if (net->now.rank == 1 && n > 1 && draw_below(net->state, 2))
    end_with_labels(net);
  else
    end_with_targets(net);
}

bool
network_grow(network *net, uint64_t *state)
{
  size_t layers = 1 + draw_below(state, 3);
  size_t kind = draw_below(state, 9);
  bool filters = kind < 3, second = kind == 3 || kind == 4;

  memset(net, 0, sizeof *net);
  net->state = state;
  net->samples = filters ? 2 + draw_below(state, 4) : 1 + draw_below(state, 3);
  model_begin(&net->m, 17);
  begin_input(net);
  if (filters)
    grow_filters(net);
  if (second)
    grow_second_order(net);
  for (size_t k = 0; k < layers && !filters && !second && has_room(net, row_of(&net->now)); k++)
    grow_layer(net);
  if (net->m.n_nodes == 0)
    grow_kink(net);
  end_network(net);
  if (second)
    take_last_weights(net);
  else
    draw_wrt(net, state);
  draw_statement(net, state);
  return net->n_weights < MOST_WEIGHTS && net->claim.n_variables > 0;
}

void
network_clear(network *net)
{
  clarke_tensor_clear(&net->x);
  clarke_tensor_clear(&net->y);
  clarke_model_clear(&net->m);
  formula_clear(&net->f);
}

/* --- statements ----------------------------------------------------------------------------------------------------- */

void
number_wrt(claim *c, const network *net)
{
  c->n_variables = 0;
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    c->variable[i] = NOWHERE;
  for (size_t t = 0; t < net->m.n_tensors; t++)
    for (size_t e = 0; net->wrt[t] && e < net->m.tensors[t].count; e++)
      c->variable[net->base[t] + e] = c->n_variables++;
}

/* Weights drawn one after another, while there is room. */
void
draw_wrt(network *net, uint64_t *state)
{
  size_t most = 1 + draw_below(state, 3), n = 0, entries = 0, tensors = net->m.n_tensors;
  size_t room = draw_below(state, 2) ? MOST_VARIABLES : 1 + draw_below(state, 3);

  memset(net->wrt, 0, sizeof net->wrt);
  for (size_t tries = 0; tries < 12 && n < most && tensors > 0; tries++) {
    size_t t = draw_below(state, tensors), count = net->m.tensors[t].count;

    if (net->role[t] != IS_WEIGHT || net->wrt[t] || entries + count > room)
      continue;
    net->wrt[t] = true;
    entries += count;
    n++;
  }
  number_wrt(&net->claim, net);
}

static proxy
draw_proxy(uint64_t *state)
{
  static const proxy some[] = {{PROXY_NUMBER, {0, 1}}, {PROXY_NUMBER, {0, 1}}, {PROXY_NUMBER, {1, 1}},
                               {PROXY_NUMBER, {1, 2}}, {PROXY_NUMBER, {1, 3}}, {PROXY_LEFT, {0, 1}},
                               {PROXY_RIGHT, {0, 1}},  {PROXY_NUMBER, {5, 1}}, {PROXY_NUMBER, {-1, 2}},
                               {PROXY_LEFT, {0, 1}},   {PROXY_RIGHT, {0, 1}}};

  return some[draw_below(state, sizeof some / sizeof *some)];
}

void
draw_statement(network *net, uint64_t *state)
{
  static const small shares[] = {{1, 2}, {1, 3}, {0, 1}, {3, 1}, {-1, 1}};
  claim *c = &net->claim;

  for (size_t o = 0; o < OPERATORS; o++)
    for (size_t k = 0; k < 2; k++)
      c->proxy[o][k] = draw_proxy(state);
  for (size_t p = 0; p < POOLS; p++) {
    size_t rule = draw_below(state, 6);

    c->tie[p].rule = rule < 2 ? TIE_FIRST : rule < 4 ? TIE_LAST : rule == 4 ? TIE_MEAN : TIE_HYBRID;
    c->tie[p].share = shares[draw_below(state, 5)];
    if (p == TOPK)
      c->tie[p].rule = TIE_FIRST; /* it has no other */
  }
  c->loss = LOSS_SUM;
  if (draw_below(state, 3) > 0)
    c->loss = net->f.loss[LOSS_MSE] != NOWHERE ? LOSS_MSE : LOSS_CE;
}
