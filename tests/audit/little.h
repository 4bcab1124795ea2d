/* Little networks, and what the definitions say of them, by the plainest arithmetic.
 *
 * A little network is a chain of layers y = p(W x + b) with at most a few parameters. It is
 * evaluated on triples (value, gradient, nothing else): a kink's argument that equals the kink
 * leaves it along directions D_1, D_2, ... to the sign of the first nonzero <gradient, D_j>. For
 * networks piecewise linear in their parameters that is the definition of a limit of gradients
 * along w + t (D_1 + d D_2 + ...), t and d falling to 0. */
#ifndef CLARKE_TESTS_AUDIT_LITTLE_H
#define CLARKE_TESTS_AUDIT_LITTLE_H

#include "../network/models.h"
#include "fraction.h"

/* --- the networks ---------------------------------------------------------------------------- */

enum { MOST_PARAMETERS = 8, MOST_WIDTH = 3, MOST_LAYERS = 4, MOST_SAMPLES = 3 };

typedef enum { NOTHING, RELU, LEAKY, ABSOLUTE, CLIP, HARDSIGMOID, HARDSWISH, PRELU } activation;

typedef enum { PROXY_NUMBER, PROXY_LEFT, PROXY_RIGHT } proxy_kind;

typedef struct {
  proxy_kind kind;
  fraction number;
} little_proxy;

typedef struct {
  size_t n_in, n_out;
  long w[MOST_WIDTH][MOST_WIDTH], b[MOST_WIDTH]; /* w[in][out] */
  bool has_bias, w_trains, b_trains, bias_first;  /* b + W x or W x + b */
  bool tied;                                      /* W is the layer's before */
  size_t w_base, b_base;                          /* numbers of the first parameters */
  activation act;
  fraction left, slope[MOST_WIDTH]; /* LEAKY; PRELU */
  bool has_low, has_high;           /* CLIP */
  long low, high;
} little_layer;

typedef struct {
  size_t samples, n_layers, n_parameters;
  long x[MOST_SAMPLES][MOST_WIDTH], y[MOST_SAMPLES][MOST_WIDTH];
  little_layer layer[MOST_LAYERS];
  bool mse;
  little_proxy proxy[8][2]; /* by activation and kink */
} little;

/* A value and its gradient; fixed: constant nearby by the rules of docs/proof-format.md. */
typedef struct {
  fraction v, g[MOST_PARAMETERS];
  bool fixed;
} dual;

typedef struct {
  size_t n_kinks, first; /* number of the first kink in the operator's table */
  fraction kink[2], coef[3][3];
} little_pieces;

static inline little_pieces
pieces_of(const little_layer *l, size_t neuron)
{
  little_pieces p;

  for (size_t i = 0; i < 9; i++)
    p.coef[i / 3][i % 3] = whole(0);
  p.first = 0;
  p.n_kinks = 1;
  p.kink[0] = p.kink[1] = whole(0);
  p.coef[1][1] = whole(1);
  switch (l->act) {
  case NOTHING:
    p.n_kinks = 0;
    p.coef[0][1] = whole(1);
    break;
  case RELU:
    break;
  case LEAKY:
    p.coef[0][1] = l->left;
    break;
  case PRELU:
    p.coef[0][1] = l->slope[neuron];
    break;
  case ABSOLUTE:
    p.coef[0][1] = whole(-1);
    break;
  case CLIP:
    p.n_kinks = (size_t)l->has_low + l->has_high;
    p.first = l->has_low ? 0 : 1;
    p.coef[1][1] = whole(0);
    p.coef[l->has_low][1] = whole(1);
    if (l->has_low)
      p.kink[0] = p.coef[0][0] = whole(l->low);
    if (l->has_high)
      p.kink[l->has_low] = p.coef[p.n_kinks][0] = whole(l->high);
    break;
  case HARDSIGMOID:
  case HARDSWISH:
    p.n_kinks = 2;
    p.kink[0] = whole(-3);
    p.kink[1] = whole(3);
    if (l->act == HARDSIGMOID) {
      p.coef[1][0] = ratio(1, 2);
      p.coef[1][1] = ratio(1, 6);
      p.coef[2][0] = whole(1);
    } else {
      p.coef[1][1] = ratio(1, 2);
      p.coef[1][2] = ratio(1, 6);
      p.coef[2][1] = whole(1);
    }
    break;
  }
  return p;
}

/* A way to pass kinks: along directions, or by the proxies (n == 0). */
typedef struct {
  size_t n;
  fraction d[3 + MOST_PARAMETERS][MOST_PARAMETERS];
} passage;

/* What an evaluation met. */
typedef struct {
  size_t touches;
  bool generic;  /* every touched argument that moves to first order left its kink */
  bool resting;  /* a touched argument had gradient zero, though it is not fixed */
  size_t n_normals;
  fraction normal[96][MOST_PARAMETERS]; /* gradients, not zero, of touched arguments */
} meeting;

static inline int
leaves_to(const dual *a, const passage *way, size_t n)
{
  for (size_t j = 0; j < way->n; j++) {
    fraction along = whole(0);

    for (size_t i = 0; i < n; i++)
      along = plus(along, times(a->g[i], way->d[j][i]));
    if (along.n != 0)
      return sign_of(along);
  }
  return 0;
}

static inline fraction
slope_at(const little_pieces *p, size_t piece, fraction x)
{
  fraction twice = times(whole(2), p->coef[piece][2]);

  return plus(p->coef[piece][1], times(twice, x));
}

/* Does the touched argument move? */
static inline bool
note(meeting *met, const dual *a, size_t n)
{
  bool moves = false;

  met->touches++;
  for (size_t i = 0; i < n; i++)
    moves = moves || a->g[i].n != 0;
  if (!moves) {
    met->resting = met->resting || !a->fixed;
    return false;
  }
  if (met->n_normals == 96)
    ck_abort_msg("too many touched arguments");
  memcpy(met->normal[met->n_normals++], a->g, sizeof a->g);
  return true;
}

/* The slope taken at an argument, and its piece. */
static inline fraction
slope_taken(size_t *piece, const little *net, const little_layer *l, const little_pieces *p,
            const dual *a, const passage *way, meeting *met)
{
  bool moves;

  *piece = 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    int s = sign_of(minus(a->v, p->kink[k]));
    fraction left = slope_at(p, k, p->kink[k]), right = slope_at(p, k + 1, p->kink[k]);

    if (s != 0 || same(left, right)) {
      *piece += s > 0;
      continue;
    }
    moves = note(met, a, net->n_parameters);
    if (way->n == 0) {
      const little_proxy *q = &net->proxy[l->act][p->first + k];

      return q->kind == PROXY_LEFT ? left : q->kind == PROXY_RIGHT ? right : q->number;
    }
    s = leaves_to(a, way, net->n_parameters);
    met->generic = met->generic && (s != 0 || !moves);
    *piece += s > 0;
    return s > 0 ? right : left;
  }
  return slope_at(p, *piece, a->v);
}

static inline dual
pass_kink(const little *net, const little_layer *l, size_t neuron, const dual *a, const passage *way,
          meeting *met)
{
  little_pieces p = pieces_of(l, neuron);
  size_t piece;
  fraction slope = slope_taken(&piece, net, l, &p, a, way, met);
  dual y;

  y.v = plus(p.coef[piece][0],
             times(a->v, plus(p.coef[piece][1], times(p.coef[piece][2], a->v))));
  for (size_t i = 0; i < net->n_parameters; i++)
    y.g[i] = times(slope, a->g[i]);
  y.fixed = a->fixed || (piece < 3 && p.coef[piece][1].n == 0 && p.coef[piece][2].n == 0);
  return y;
}

static inline dual
constant_dual(const little *net, fraction v)
{
  dual a = {.v = v, .fixed = true};

  for (size_t i = 0; i < net->n_parameters; i++)
    a.g[i] = whole(0);
  return a;
}

/* Parameter i's value at the point asked about: w + shift. */
static inline dual
weight_dual(const little *net, long w, bool trains, size_t number, const fraction *shift)
{
  dual a = constant_dual(net, whole(w));

  if (trains) {
    a.g[number] = whole(1);
    a.fixed = false;
    if (shift != NULL)
      a.v = plus(a.v, shift[number]);
  }
  return a;
}

/* sum += weight * b */
static inline void
add_product(const little *net, dual *sum, const dual *a, const dual *b)
{
  sum->v = plus(sum->v, times(a->v, b->v));
  sum->fixed = sum->fixed && b->fixed && (a->fixed || b->v.n == 0);
  for (size_t i = 0; i < net->n_parameters; i++)
    sum->g[i] = plus(sum->g[i], plus(times(a->v, b->g[i]), times(a->g[i], b->v)));
}

static inline void
run_layer(const little *net, const little_layer *l, dual *at, const fraction *shift,
          const passage *way, meeting *met)
{
  dual y[MOST_WIDTH], one = constant_dual(net, whole(1));

  for (size_t o = 0; o < l->n_out; o++) {
    dual sum = constant_dual(net, whole(0));

    for (size_t i = 0; i < l->n_in; i++) {
      dual w = weight_dual(net, l->w[i][o], l->w_trains, l->w_base + i * l->n_out + o, shift);

      add_product(net, &sum, &w, &at[i]);
    }
    if (l->has_bias) {
      dual b = weight_dual(net, l->b[o], l->b_trains, l->b_base + o, shift);

      add_product(net, &sum, &b, &one);
    }
    y[o] = pass_kink(net, l, o, &sum, way, met);
  }
  memcpy(at, y, l->n_out * sizeof *y);
}

/* The loss and its gradient at w + shift (NULL: w), kinks passed that way. */
static inline dual
little_loss(const little *net, const fraction *shift, const passage *way, meeting *met)
{
  dual total = constant_dual(net, whole(0)), one = constant_dual(net, whole(1));
  size_t n_out = net->layer[net->n_layers - 1].n_out;
  fraction mean = ratio(1, (wide)(net->samples * n_out));

  met->touches = met->n_normals = 0;
  met->generic = true;
  met->resting = false;
  for (size_t j = 0; j < net->samples; j++) {
    dual at[MOST_WIDTH];

    for (size_t i = 0; i < net->layer[0].n_in; i++)
      at[i] = constant_dual(net, whole(net->x[j][i]));
    for (size_t k = 0; k < net->n_layers; k++)
      run_layer(net, &net->layer[k], at, shift, way, met);
    for (size_t o = 0; o < n_out; o++) {
      dual scaled = at[o];

      if (!net->mse) {
        add_product(net, &total, &at[o], &one);
        continue;
      }
      at[o].v = minus(at[o].v, whole(net->y[j][o]));
      scaled.v = times(at[o].v, mean);
      for (size_t i = 0; i < net->n_parameters; i++)
        scaled.g[i] = times(at[o].g[i], mean);
      add_product(net, &total, &at[o], &scaled);
    }
  }
  return total;
}

/* --- as a model ------------------------------------------------------------------------------ */

static const char *const act_name[] = {"Identity", "Relu", "LeakyRelu", "Abs",
                                       "Clip", "HardSigmoid", "HardSwish", "PRelu"};

static inline void
add_activation(clarke_model *m, const little_layer *l, const char *in, const char *out)
{
  clarke_model_node *node;
  char inputs[96], low[32] = "", high[32] = "";

  if (l->act == CLIP && l->has_low) {
    snprintf(low, sizeof low, "%s.low", out);
    model_floats(m, low, SHAPE())[0] = (double)l->low;
  }
  if (l->act == CLIP && l->has_high) {
    snprintf(high, sizeof high, "%s.high", out);
    model_floats(m, high, SHAPE())[0] = (double)l->high;
  }
  snprintf(inputs, sizeof inputs, l->act == CLIP ? "%s,%s,%s" : "%s", in, low, high);
  if (l->act == PRELU) {
    double *slope;

    snprintf(inputs, sizeof inputs, "%s,%s.slope", in, out);
    slope = model_floats(m, strchr(inputs, ',') + 1, SHAPE((long)l->n_out,));
    for (size_t o = 0; o < l->n_out; o++)
      slope[o] = rounded(l->slope[o]);
  }
  node = model_node(m, act_name[l->act], inputs, out);
  if (l->act == LEAKY)
    attr_float(node, "alpha", rounded(l->left));
  if (l->act == HARDSIGMOID)
    attr_float(node, "alpha", (double)(1.0f / 6.0f));
}

static inline void
add_layer(clarke_model *m, const little_layer *l, size_t k, const char *in, const char *out)
{
  char w[32], b[32], product[32], sum[32], inputs[80];
  double *values;

  snprintf(w, sizeof w, "W%zu", l->tied ? k - 1 : k);
  snprintf(b, sizeof b, "b%zu", k);
  snprintf(product, sizeof product, "p%zu", k);
  snprintf(sum, sizeof sum, "s%zu", k);
  values = l->tied ? NULL : model_floats(m, w, SHAPE((long)l->n_in, (long)l->n_out,));
  for (size_t i = 0; i < l->n_in && !l->tied; i++)
    for (size_t o = 0; o < l->n_out; o++)
      values[i * l->n_out + o] = (double)l->w[i][o];
  snprintf(inputs, sizeof inputs, "%s,%s", in, w);
  model_node(m, "MatMul", inputs, product);
  if (l->has_bias) {
    values = model_floats(m, b, SHAPE((long)l->n_out,));
    for (size_t o = 0; o < l->n_out; o++)
      values[o] = (double)l->b[o];
    snprintf(inputs, sizeof inputs, "%s,%s", l->bias_first ? b : product,
             l->bias_first ? product : b);
    model_node(m, "Add", inputs, sum);
  }
  add_activation(m, l, l->has_bias ? sum : product, out);
}

static inline void
little_model(clarke_model *m, const little *net)
{
  char in[32] = "x", out[32];

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, (long)net->layer[0].n_in,));
  for (size_t k = 0; k < net->n_layers; k++) {
    snprintf(out, sizeof out, "z%zu", k);
    add_layer(m, &net->layer[k], k, in, out);
    strcpy(in, out);
  }
  model_output(m, in);
}

/* The trained initializers, in the parameters' order: at most 2 a layer. */
static inline size_t
little_wrt(char *names[2 * MOST_LAYERS], const little *net)
{
  size_t n = 0;
  char name[32];

  for (size_t k = 0; k < net->n_layers; k++) {
    if (net->layer[k].w_trains && !net->layer[k].tied) {
      snprintf(name, sizeof name, "W%zu", k);
      names[n++] = strdup(name);
    }
    if (net->layer[k].b_trains) {
      snprintf(name, sizeof name, "b%zu", k);
      names[n++] = strdup(name);
    }
  }
  return n;
}

static inline clarke_tensor
little_rows(const char *name, const long rows[][MOST_WIDTH], size_t samples, size_t width)
{
  clarke_tensor t = tensor_of(name, CLARKE_F64, SHAPE((long)samples, (long)width,));

  for (size_t j = 0; j < samples; j++)
    for (size_t i = 0; i < width; i++)
      t.real[j * width + i] = (double)rows[j][i];
  return t;
}

/* The text of a profile file with the network's proxies. */
static inline void
little_profile(char *text, size_t size, const little *net)
{
  size_t at = 0;

  for (activation a = RELU; a <= PRELU; a++)
    for (size_t k = 0; k < (a == CLIP || a == HARDSIGMOID || a == HARDSWISH ? 2u : 1u); k++) {
      const little_proxy *q = &net->proxy[a][k];
      char value[64];

      snprintf(value, sizeof value, "%ld/%ld", (long)q->number.n, (long)q->number.d);
      at += (size_t)snprintf(text + at, size - at, "%s %zu %s\n", act_name[a], k,
                             q->kind == PROXY_LEFT    ? "left"
                             : q->kind == PROXY_RIGHT ? "right"
                                                      : value);
    }
}

#endif
