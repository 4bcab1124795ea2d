#include "cost/network.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_network_cost *c;
  const clarke_graph *g;
  bool *varies[CLARKE_N_QUANTITIES]; /* by value */
  bool *weighted;                    /* by value: is it a product with a weight? */
  bool *convolved;                   /* and that of a convolution? */
  bool **zero;                       /* by value: which of its entries are padding's zeros; NULL: none */
  clarke_layer_cost *layer;
  bool padding;
  clarke_quantities q;
  clarke_error *err;
} counting;

static const char *const term_names[CLARKE_N_TERMS] = {
  [CLARKE_TERM_CONVOLUTION] = "multiply-adds of convolutions", [CLARKE_TERM_LINEAR] = "multiply-adds of linear layers",
  [CLARKE_TERM_ATTENTION] = "multiply-adds of two activations", [CLARKE_TERM_PADDING] = "multiply-adds of padding's zeros",
  [CLARKE_TERM_CONVOLUTION_BIAS] = "additions of a convolution's bias", [CLARKE_TERM_LINEAR_BIAS] = "additions of a linear layer's bias",
  [CLARKE_TERM_RELU] = "entries of Relu", [CLARKE_TERM_GELU] = "entries of Gelu",
  [CLARKE_TERM_ACTIVATION] = "entries of other activations",
  [CLARKE_TERM_POOL_INPUT] = "entries that are pooled", [CLARKE_TERM_POOL_OUTPUT] = "maxima",
  [CLARKE_TERM_POOL_COMPARISONS] = "comparisons of pooling", [CLARKE_TERM_MEAN_INPUT] = "entries that are averaged or summed",
  [CLARKE_TERM_MEAN_OUTPUT] = "means or sums", [CLARKE_TERM_BATCH_NORM] = "entries of batch normalization",
  [CLARKE_TERM_LAYER_NORM] = "entries of layer normalization", [CLARKE_TERM_SOFTMAX] = "entries of softmax",
  [CLARKE_TERM_ADDITIONS] = "additions of activations",
  [CLARKE_TERM_LINEAR_WEIGHTS] = "parameters of linear layers",
  [CLARKE_TERM_NORM_WEIGHTS] = "parameters of normalizations", [CLARKE_TERM_OUTPUTS] = "outputs",
  [CLARKE_TERM_BACK_WEIGHTS] = "multiply-adds of weights' gradients",
  [CLARKE_TERM_BACK_ACTIVATIONS] = "multiply-adds of activations' gradients",
  [CLARKE_TERM_BACK_ATTENTION] = "multiply-adds of gradients of two activations' product",
  [CLARKE_TERM_BACK_INPUT] = "multiply-adds of the input's gradient",
  [CLARKE_TERM_BACK_PADDING] = "multiply-adds of padding in these gradients",
  [CLARKE_TERM_BACK_INPUT_PADDING] = "multiply-adds of padding in the input's gradient",
  [CLARKE_TERM_BACK_BIAS] = "additions of gradients of biases",
};

const char *
clarke_term_name(clarke_term t)
{
  return term_names[t];
}

/* --- layers ------------------------------------------------------------------------------------------- */

static void
layer_init(clarke_layer_cost *l)
{
  memset(l, 0, sizeof *l);
  for (int q = 0; q < CLARKE_N_QUANTITIES; q++)
    clarke_count_init(&l->count[q]);
  for (int t = 0; t < CLARKE_N_TERMS; t++)
    mpz_init(l->term[t]);
}

static void
layer_clear(clarke_layer_cost *l)
{
  for (int q = 0; q < CLARKE_N_QUANTITIES; q++)
    clarke_count_clear(&l->count[q]);
  for (int t = 0; t < CLARKE_N_TERMS; t++)
    mpz_clear(l->term[t]);
}

void
clarke_network_cost_init(clarke_network_cost *c)
{
  memset(c, 0, sizeof *c);
  layer_init(&c->total);
  mpz_init(c->parameters);
}

void
clarke_network_cost_clear(clarke_network_cost *c)
{
  for (size_t i = 0; i < c->n; i++)
    layer_clear(&c->layer[i]);
  free(c->layer);
  layer_clear(&c->total);
  mpz_clear(c->parameters);
}

static size_t
entries(const counting *w, size_t value)
{
  return w->g->values[value].count;
}

/* n of one sample. */
static void
add_term(counting *w, clarke_term t, size_t n)
{
  mpz_t more;

  if (w->q != CLARKE_PARAMETERS_ALONE) /* once */
    return;
  mpz_init_set_ui(more, n);
  mpz_addmul_ui(w->layer->term[t], more, w->c->samples);
  mpz_clear(more);
}

static clarke_status
add(counting *w, clarke_elementary e, size_t times)
{
  size_t all;

  if (__builtin_mul_overflow(times, w->c->samples, &all))
    return clarke_fail(w->err, CLARKE_EINPUT, "%s: node '%s' has more than 2^64 operations", w->g->file, w->layer->name);
  return clarke_count_add(&w->layer->count[w->q], &e, all, w->err);
}

static bool
varies(const counting *w, size_t value)
{
  return w->varies[w->q][value];
}

/* One factor that varies makes a product with a constant, two a product. */
static clarke_status
add_products(counting *w, bool a, bool b, size_t n)
{
  return !a && !b ? CLARKE_OK : add(w, a && b ? clarke_elementary_product() : clarke_elementary_times_constant(), n);
}

/* --- products ----------------------------------------------------------------------------------------- */

/* How many of the `inner` entries that output (block, ., repeat) is made of are no zeros of padding. */
static size_t
inside(const counting *w, const clarke_step *s, size_t block, size_t repeat)
{
  const bool *zero = w->zero[s->in[0].value];
  const clarke_dense *d = &s->dense;
  size_t n = 0;

  for (size_t i = 0; i < d->inner; i++)
    n += zero == NULL || !zero[(block * d->inner + i) * d->repeat + repeat];
  return n;
}

/* How many products all outputs take, without padding's, and additions of these. */
static void
dense_sizes(size_t *products, size_t *additions, const counting *w, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;

  *products = *additions = 0;
  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r++) {
      const size_t n = inside(w, s, b, r);

      *products += n * d->outer;
      *additions += (n > 0 ? n - 1 : 0) * d->outer;
    }
}

/* By a constant that is no weight, such as that of a sum: products with 1 and -1 cost nothing, with 0 there are none. */
static clarke_status
by_constant(counting *w, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const double *weight = w->g->values[d->weight].real;
  size_t multiplied = 0, additions = 0;
  clarke_status status;

  for (size_t f = 0; f < entries(w, s->out); f++) {
    const size_t repeat = f % d->repeat, outer = f / d->repeat % d->outer, block = f / d->repeat / d->outer;
    const bool *zero = w->zero[s->in[0].value];
    size_t terms = 0;

    for (size_t i = 0; i < d->inner; i++) {
      const double c = weight[(d->transposed ? i * d->outer + outer : outer * d->inner + i)
                              + (d->grouped ? block * d->outer * d->inner : 0)];
      const bool is = c != 0 && (zero == NULL || !zero[(block * d->inner + i) * d->repeat + repeat]);

      terms += is;
      multiplied += is && c != 1 && c != -1;
    }
    additions += terms > 0 ? terms - 1 : 0;
  }
  status = add(w, clarke_elementary_times_constant(), multiplied);
  return status == CLARKE_OK ? add(w, clarke_elementary_addition(), additions) : status;
}

static void
gradient_terms(counting *w, const clarke_step *s, size_t all, size_t products)
{
  const size_t x = s->in[0].value, weight = s->dense.weight;
  const bool by_weight = w->varies[CLARKE_PARAMETERS_ALONE][weight], of_activation = w->varies[CLARKE_PARAMETERS_ALONE][x];

  add_term(w, CLARKE_TERM_BACK_WEIGHTS, by_weight ? all : 0);
  add_term(w, CLARKE_TERM_BACK_ACTIVATIONS, of_activation ? all : 0);
  add_term(w, CLARKE_TERM_BACK_PADDING, (by_weight + (size_t)of_activation) * (all - products));
  if (!of_activation && w->varies[CLARKE_WITH_INPUT][x]) {
    add_term(w, CLARKE_TERM_BACK_INPUT, all);
    add_term(w, CLARKE_TERM_BACK_INPUT_PADDING, all - products);
  }
}

static bool
is_convolution(const clarke_step *s)
{
  return strncmp(s->op->name, "Conv", 4) == 0;
}

static clarke_status
count_dense(counting *w, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const bool x = varies(w, s->in[0].value), weight = varies(w, d->weight);
  const size_t all = entries(w, s->out) * d->inner;
  size_t products, additions;
  clarke_status status;

  if (!s->op->multiplies) {
    add_term(w, CLARKE_TERM_MEAN_INPUT, all);
    add_term(w, CLARKE_TERM_MEAN_OUTPUT, entries(w, s->out));
    return x ? by_constant(w, s) : CLARKE_OK;
  }
  dense_sizes(&products, &additions, w, s);
  w->weighted[s->out] = true;
  w->convolved[s->out] = is_convolution(s);
  add_term(w, is_convolution(s) ? CLARKE_TERM_CONVOLUTION : CLARKE_TERM_LINEAR, all);
  add_term(w, CLARKE_TERM_LINEAR_WEIGHTS, is_convolution(s) ? 0 : entries(w, d->weight));
  add_term(w, CLARKE_TERM_PADDING, all - products);
  gradient_terms(w, s, all, products);
  status = add_products(w, x, weight, products);
  if (status == CLARKE_OK && w->padding) {
    additions = entries(w, s->out) * (d->inner > 0 ? d->inner - 1 : 0);
    status = add_products(w, false, weight, all - products);
  }
  return status == CLARKE_OK && (x || weight) ? add(w, clarke_elementary_addition(), additions) : status;
}

static clarke_status
count_product(counting *w, const clarke_step *s)
{
  const clarke_contraction *c = &s->contraction;
  const size_t a = s->in[0].value, b = s->in[1].value, outputs = entries(w, s->out);
  const bool elementwise = !s->op->multiplies || (c->rows == 1 && c->inner == 1 && c->cols == 1);
  const bool *const before = w->varies[CLARKE_PARAMETERS_ALONE], *const with = w->varies[CLARKE_WITH_INPUT];
  clarke_status status = add_products(w, varies(w, a), varies(w, b), outputs * c->inner);

  if (!elementwise) {
    add_term(w, CLARKE_TERM_ATTENTION, outputs * c->inner);
    add_term(w, CLARKE_TERM_BACK_ACTIVATIONS, (before[a] + (size_t)before[b]) * outputs * c->inner);
    add_term(w, CLARKE_TERM_BACK_ATTENTION, (before[a] + (size_t)before[b]) * outputs * c->inner);
    add_term(w, CLARKE_TERM_BACK_INPUT, ((with[a] && !before[a]) + (size_t)(with[b] && !before[b])) * outputs * c->inner);
  } else
    add_term(w, CLARKE_TERM_ACTIVATION, s->op->multiplies || strcmp(s->op->name, "Gelu") == 0 ? 0 : outputs);
  return status == CLARKE_OK && c->inner > 1 && (varies(w, a) || varies(w, b))
           ? add(w, clarke_elementary_addition(), outputs * (c->inner - 1)) : status;
}

/* --- sums and multiples -------------------------------------------------------------------------------- */

typedef struct {
  size_t additions, plus_constant, times_constant;
} sums;

/* As clarke_count_program has it of a linear instruction. */
static void
add_sum_entry(sums *n, const counting *w, const clarke_step *s, size_t f)
{
  size_t terms = 0, negative = 0, multiplied = 0;
  bool constant = false, alike = true;
  double last = 0;

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    const size_t e = clarke_operand_entry(o, f);

    if (e == CLARKE_NONE || (w->zero[o->value] != NULL && w->zero[o->value][e]) || o->coef == 0)
      continue;
    if (!varies(w, o->value)) {
      constant = true;
      continue;
    }
    alike = alike && (terms == 0 || o->coef == last);
    last = o->coef;
    terms++;
    negative += o->coef == -1;
    multiplied += o->coef != 1 && o->coef != -1;
  }
  if (terms == 0)
    return;
  n->times_constant += alike && multiplied > 0 && !constant ? 1 : multiplied;
  n->times_constant += negative == terms && !constant;
  n->additions += terms - 1;
  n->plus_constant += constant;
}

/* The parameter that a SUM adds to a product with a weight. */
static bool
adds_bias(const counting *w, const clarke_step *s, bool *convolution)
{
  size_t product = CLARKE_NONE;
  bool bias = false;

  for (size_t i = 0; i < s->n_in; i++) {
    bias = bias || (w->g->values[s->in[i].value].constant && w->g->values[s->in[i].value].parameter != CLARKE_NONE);
    if (w->weighted[s->in[i].value])
      product = s->in[i].value;
  }
  *convolution = product != CLARKE_NONE && w->convolved[product];
  return bias && product != CLARKE_NONE && s->n_in == 2;
}

static void
sum_terms(counting *w, const clarke_step *s)
{
  bool convolution;

  if (adds_bias(w, s, &convolution)) {
    const size_t bias = w->g->values[s->in[0].value].constant ? 0 : 1;

    add_term(w, convolution ? CLARKE_TERM_CONVOLUTION_BIAS : CLARKE_TERM_LINEAR_BIAS, entries(w, s->out));
    add_term(w, CLARKE_TERM_LINEAR_WEIGHTS, convolution ? 0 : entries(w, s->in[bias].value));
    if (clarke_value_is_wrt(w->g, s->in[bias].value)) {
      add_term(w, CLARKE_TERM_BACK_BIAS, entries(w, s->out));
      mpz_sub_ui(w->layer->term[CLARKE_TERM_BACK_BIAS], w->layer->term[CLARKE_TERM_BACK_BIAS],
                 w->q == CLARKE_PARAMETERS_ALONE ? entries(w, s->in[bias].value) : 0);
    }
    return;
  }
  for (size_t i = 0, activations = 0; i < s->n_in; i++)
    if (!w->g->values[s->in[i].value].constant && activations++ > 0)
      add_term(w, CLARKE_TERM_ADDITIONS, entries(w, s->out));
}

static clarke_status
count_sum(counting *w, const clarke_step *s)
{
  sums n = {0};
  clarke_status status;

  for (size_t f = 0; f < entries(w, s->out); f++)
    add_sum_entry(&n, w, s, f);
  sum_terms(w, s);
  status = add(w, clarke_elementary_addition(), n.additions);
  if (status == CLARKE_OK)
    status = add(w, clarke_elementary_plus_constant(), n.plus_constant);
  return status == CLARKE_OK ? add(w, clarke_elementary_times_constant(), n.times_constant) : status;
}

static clarke_status
count_scale(counting *w, const clarke_step *s)
{
  const bool x = varies(w, s->in[0].value), c = varies(w, s->in[1].value);
  clarke_status status = s->divide && c ? add(w, clarke_elementary_inverse(), entries(w, s->out)) : CLARKE_OK;

  return status == CLARKE_OK ? add_products(w, x, c, entries(w, s->out)) : status;
}

/* --- functions ----------------------------------------------------------------------------------------- */

static clarke_status
count_windows(counting *w, const clarke_step *s)
{
  const size_t windows = entries(w, s->out);
  size_t pooled = 0, run = 0, last = 0;
  clarke_status status = CLARKE_OK;

  for (size_t f = 0; f < windows && status == CLARKE_OK; f++) {
    size_t n = 0;

    for (size_t i = 0; i < s->width; i++)
      n += clarke_operand_entry(&s->in[0], f * s->width + i) != CLARKE_NONE;
    if (n != last && last > 1 && varies(w, s->in[0].value))
      status = add(w, clarke_elementary_maximum(last), run);
    run = n == last ? run + 1 : 1;
    last = n;
    pooled += n;
  }
  if (status == CLARKE_OK && last > 1 && varies(w, s->in[0].value))
    status = add(w, clarke_elementary_maximum(last), run);
  add_term(w, CLARKE_TERM_POOL_INPUT, entries(w, s->in[0].value));
  add_term(w, CLARKE_TERM_POOL_OUTPUT, windows);
  add_term(w, CLARKE_TERM_POOL_COMPARISONS, pooled - windows);
  return status;
}

static clarke_status
count_pointwise(counting *w, const clarke_step *s)
{
  const bool slope = s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && varies(w, s->pieces.slope);

  add_term(w, strcmp(s->op->name, "Relu") == 0   ? CLARKE_TERM_RELU
              : strcmp(s->op->name, "Gelu") == 0 ? CLARKE_TERM_GELU
                                                 : CLARKE_TERM_ACTIVATION, entries(w, s->out));
  if (!varies(w, s->in[0].value) && !slope)
    return CLARKE_OK;
  return add(w, s->kind == CLARKE_PIECEWISE ? clarke_elementary_pieces(&s->pieces, s->op->name, slope)
                                            : clarke_elementary_function(s->function), entries(w, s->out));
}

/* e / sum of e, or x - log of that sum. */
static clarke_status
count_softmax(counting *w, const clarke_step *s)
{
  const size_t n = entries(w, s->out), groups = s->length > 0 ? n / s->length : 0;
  clarke_status status;

  add_term(w, CLARKE_TERM_SOFTMAX, n);
  if (!varies(w, s->in[0].value))
    return CLARKE_OK;
  status = add(w, clarke_elementary_analytic(CLARKE_FN_EXP), n);
  if (status == CLARKE_OK)
    status = add(w, clarke_elementary_addition(), n - groups + (s->log ? n : 0));
  if (status == CLARKE_OK)
    status = add(w, s->log ? clarke_elementary_analytic(CLARKE_FN_LOG) : clarke_elementary_inverse(), groups);
  return status == CLARKE_OK && !s->log ? add(w, clarke_elementary_product(), n) : status;
}

/* Mean, x - mean, its square's mean + epsilon, root, inverse, product. A group that couples samples is one of all: its functions of
 * a group are shared out among them, and their rest is left to one. */
static clarke_status
count_normalize(counting *w, const clarke_step *s)
{
  const size_t n = entries(w, s->out), size = s->grouping.blocks * s->grouping.length, groups = size > 0 ? n / size : 0;
  const size_t samples = w->c->samples, once = s->grouping.couples ? samples : 1;
  const clarke_elementary per_group[] = {clarke_elementary_times_constant(), clarke_elementary_times_constant(),
                                         clarke_elementary_plus_constant(), clarke_elementary_analytic(CLARKE_FN_SQRT),
                                         clarke_elementary_inverse()};
  clarke_status status;

  add_term(w, s->grouping.couples ? CLARKE_TERM_BATCH_NORM : CLARKE_TERM_LAYER_NORM, n);
  if (!varies(w, s->in[0].value))
    return CLARKE_OK;
  status = add(w, clarke_elementary_product(), 2 * n);
  if (status == CLARKE_OK)
    status = add(w, clarke_elementary_addition(), n);
  for (size_t k = 0; k < sizeof per_group / sizeof *per_group && status == CLARKE_OK; k++)
    status = clarke_count_add(&w->layer->count[w->q], &per_group[k], groups * (samples / once), w->err);
  return status == CLARKE_OK ? clarke_count_add(&w->layer->count[w->q], &(clarke_elementary){.name = "+", .arguments = 2,
                                                  .cost = {{1}}, .joint = {{1}}}, 2 * (n * samples - groups * (samples / once)), w->err)
                             : status;
}

/* A GATHER costs nothing. */
static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(counting *w, const clarke_step *s) = {
  [CLARKE_SUM] = count_sum, [CLARKE_SCALE] = count_scale, [CLARKE_DENSE] = count_dense, [CLARKE_PIECEWISE] = count_pointwise,
  [CLARKE_ANALYTIC] = count_pointwise, [CLARKE_SOFTMAX] = count_softmax, [CLARKE_NORMALIZE] = count_normalize,
  [CLARKE_MAX] = count_windows, [CLARKE_PRODUCT] = count_product,
};

static clarke_status
count_step(counting *w, const clarke_step *s)
{
  return of_kind[s->kind] != NULL ? of_kind[s->kind](w, s) : CLARKE_OK;
}

/* --- values --------------------------------------------------------------------------------------------- */

static bool
step_varies(const counting *w, const clarke_step *s, clarke_quantities q)
{
  bool does = (s->kind == CLARKE_DENSE && w->varies[q][s->dense.weight])
              || (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && w->varies[q][s->pieces.slope]);

  for (size_t i = 0; i < s->n_in; i++)
    does = does || w->varies[q][s->in[i].value];
  return does;
}

/* Is entry f, which a GATHER moves or a DENSE step makes, a zero of padding, or made of such alone? */
static bool
is_zero(const counting *w, const clarke_step *s, size_t f)
{
  const bool *before = w->zero[s->in[0].value];
  const size_t e = s->kind == CLARKE_GATHER ? clarke_operand_entry(&s->in[0], f) : 0;

  if (s->kind == CLARKE_DENSE)
    return before != NULL && inside(w, s, f / s->dense.repeat / s->dense.outer, f % s->dense.repeat) == 0;
  return e == CLARKE_NONE || (before != NULL && before[e]);
}

static clarke_status
follow_zeros(counting *w, const clarke_step *s)
{
  const size_t n = entries(w, s->out);
  bool any = false, *zero;

  if (s->kind != CLARKE_GATHER && (s->kind != CLARKE_DENSE || w->zero[s->in[0].value] == NULL))
    return CLARKE_OK;
  zero = calloc(n + 1, sizeof *zero);
  if (zero == NULL)
    return clarke_no_memory(w->err);
  for (size_t f = 0; f < n; f++) {
    zero[f] = is_zero(w, s, f);
    any = any || zero[f];
  }
  if (any)
    w->zero[s->out] = zero;
  else
    free(zero);
  if (s->kind == CLARKE_GATHER) {
    w->weighted[s->out] = w->weighted[s->in[0].value];
    w->convolved[s->out] = w->convolved[s->in[0].value];
  }
  return CLARKE_OK;
}

/* The layer of the step's node: the last one, or a new one. */
static clarke_status
find_layer(counting *w, const clarke_step *s)
{
  clarke_network_cost *c = w->c;

  if (c->n == 0 || c->layer[c->n - 1].node != s->node || c->layer[c->n - 1].op != s->op) {
    clarke_layer_cost *l = &c->layer[c->n++];

    layer_init(l);
    l->name = s->name;
    l->op = s->op;
    l->node = s->node;
  }
  w->layer = &c->layer[c->n - 1];
  return CLARKE_OK;
}

/* Batch normalization by running statistics is steps of no kind of its own. */
static void
node_terms(counting *w, const clarke_step *s, bool begins)
{
  w->q = CLARKE_PARAMETERS_ALONE;
  if (strstr(s->op->name, "Normalization") != NULL)
    for (size_t i = 1; i < s->n_in; i++)
      add_term(w, CLARKE_TERM_NORM_WEIGHTS, clarke_value_is_wrt(w->g, s->in[i].value) ? entries(w, s->in[i].value) : 0);
  if (begins && strcmp(s->op->name, "BatchNormalization") == 0 && s->kind != CLARKE_NORMALIZE)
    add_term(w, CLARKE_TERM_BATCH_NORM, entries(w, s->out));
  if (s->out == w->g->output)
    add_term(w, CLARKE_TERM_OUTPUTS, entries(w, s->out));
}

static clarke_status
visit(counting *w, const clarke_step *s)
{
  const size_t layers = w->c->n;
  clarke_status status = find_layer(w, s);

  if (status == CLARKE_OK)
    status = follow_zeros(w, s);
  for (w->q = 0; w->q < CLARKE_N_QUANTITIES && status == CLARKE_OK; w->q++) {
    w->varies[w->q][s->out] = step_varies(w, s, w->q);
    status = w->varies[w->q][s->out] || w->q == CLARKE_PARAMETERS_ALONE ? count_step(w, s) : CLARKE_OK;
  }
  node_terms(w, s, w->c->n > layers);
  return status == CLARKE_OK ? clarke_work_check(w->err) : status;
}

static clarke_status
add_up(clarke_network_cost *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->n; i++) {
    for (int t = 0; t < CLARKE_N_TERMS; t++)
      mpz_add(c->total.term[t], c->total.term[t], c->layer[i].term[t]);
    for (int q = 0; q < CLARKE_N_QUANTITIES && status == CLARKE_OK; q++)
      status = clarke_count_join(&c->total.count[q], &c->layer[i].count[q], err);
  }
  return status;
}

static clarke_status
visit_all(counting *w)
{
  const clarke_graph *g = w->g;
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < g->n_values; v++)
    w->varies[CLARKE_WITH_INPUT][v] = w->varies[CLARKE_PARAMETERS_ALONE][v] = clarke_value_is_wrt(g, v);
  w->varies[CLARKE_WITH_INPUT][g->input] = true;
  w->c->samples = g->samples;
  w->c->input_entries = g->values[g->input].count;
  mpz_set_ui(w->c->parameters, clarke_graph_wrt_count(g));
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    status = visit(w, &g->steps[i]);
  return status == CLARKE_OK ? add_up(w->c, w->err) : status;
}

clarke_status
clarke_network_cost_find(clarke_network_cost *c, const clarke_graph *g, bool padding, clarke_error *err)
{
  const size_t n = g->n_values + 1;
  counting w = {.c = c, .g = g, .padding = padding, .err = err};
  clarke_status status;

  for (int q = 0; q < CLARKE_N_QUANTITIES; q++)
    w.varies[q] = calloc(n, sizeof **w.varies);
  w.weighted = calloc(n, sizeof *w.weighted);
  w.convolved = calloc(n, sizeof *w.convolved);
  w.zero = calloc(n, sizeof *w.zero);
  c->layer = calloc(g->n_steps + 1, sizeof *c->layer);
  status = w.varies[0] != NULL && w.varies[1] != NULL && w.weighted != NULL && w.convolved != NULL && w.zero != NULL && c->layer != NULL
             ? visit_all(&w) : clarke_no_memory(err);
  for (size_t v = 0; w.zero != NULL && v < g->n_values; v++)
    free(w.zero[v]);
  free(w.zero);
  free(w.weighted);
  free(w.convolved);
  for (int q = 0; q < CLARKE_N_QUANTITIES; q++)
    free(w.varies[q]);
  return status;
}

/* --- sums of terms ---------------------------------------------------------------------------------------- */

void
clarke_network_cost_entries(mpz_t p, const clarke_network_cost *c, clarke_quantities q)
{
  mpz_set(p, c->parameters);
  if (q == CLARKE_WITH_INPUT) {
    mpz_t input;

    mpz_init_set_ui(input, c->input_entries);
    mpz_addmul_ui(p, input, c->samples);
    mpz_clear(input);
  }
}

void
clarke_layer_products(mpz_t n, const clarke_layer_cost *l)
{
  mpz_add(n, l->term[CLARKE_TERM_CONVOLUTION], l->term[CLARKE_TERM_LINEAR]);
  mpz_add(n, n, l->term[CLARKE_TERM_ATTENTION]);
}

void
clarke_layer_flop(mpz_t n, const clarke_layer_cost *l, bool padding)
{
  clarke_layer_products(n, l);
  if (!padding)
    mpz_sub(n, n, l->term[CLARKE_TERM_PADDING]);
  mpz_mul_ui(n, n, 2);
}

void
clarke_layer_flop_backward(mpz_t n, const clarke_layer_cost *l, clarke_quantities q, bool padding)
{
  mpz_add(n, l->term[CLARKE_TERM_BACK_WEIGHTS], l->term[CLARKE_TERM_BACK_ACTIVATIONS]);
  if (q == CLARKE_WITH_INPUT)
    mpz_add(n, n, l->term[CLARKE_TERM_BACK_INPUT]);
  if (!padding)
    mpz_sub(n, n, l->term[CLARKE_TERM_BACK_PADDING]);
  if (!padding && q == CLARKE_WITH_INPUT)
    mpz_sub(n, n, l->term[CLARKE_TERM_BACK_INPUT_PADDING]);
  mpz_mul_ui(n, n, 2);
}
