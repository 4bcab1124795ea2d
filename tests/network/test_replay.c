/* Replay, tangents, gradients and losses against the naive evaluator, exactly; and the filter
 * against the exact pass. */
#include "machine.h"
#include "networks.h"
#include "compared.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "network/derive/tangent.h"
#include "network/derive/zeros/zeros.h"
#include "network/replay/replay_inside.h"

static const char profile_text[] =
  "Relu 0 1/3\nLeakyRelu 0 right\nPRelu 0 left\nAbs 0 -1/2\nClip 0 left\nClip 1 2/7\n"
  "HardSigmoid 0 1/12\nHardSigmoid 1 right\nHardSwish 0 right\nHardSwish 1 5\n"
  "tie Maximum first\ntie Minimum first\ntie ReduceMax first\ntie ReduceMin first\ntie TopK first\n";

/* The same table, for the naive evaluator. */
static void
drawn_proxy(mpq_t slope, const char *op, size_t kink, const mpq_t left, const mpq_t right)
{
  if (strcmp(op, "Relu") == 0)
    mpq_set_si(slope, 1, 3);
  else if (strcmp(op, "Abs") == 0)
    mpq_set_si(slope, -1, 2);
  else if (strcmp(op, "Clip") == 0 && kink == 1)
    mpq_set_si(slope, 2, 7);
  else if (strcmp(op, "HardSigmoid") == 0 && kink == 0)
    mpq_set_si(slope, 1, 12);
  else if (strcmp(op, "HardSwish") == 0 && kink == 1)
    mpq_set_si(slope, 5, 1);
  else if (strcmp(op, "PRelu") == 0 || strcmp(op, "Clip") == 0)
    mpq_set(slope, left);
  else
    mpq_set(slope, right);
}

/* --- losses ---------------------------------------------------------------------------------- */

/* The loss and its derivative along the direction. */
static void
naive_loss(mpq_t value, mpq_t along, const naive *out, const clarke_tensor *y)
{
  mpq_t q, mean;

  mpq_inits(q, mean, NULL);
  mpq_set_ui(mean, 1, out->count);
  mpq_set_ui(value, 0, 1);
  mpq_set_ui(along, 0, 1);
  for (size_t e = 0; e < out->count; e++) {
    if (y == NULL) {
      mpq_add(value, value, out->v[e]);
      mpq_add(along, along, out->t[e]);
      continue;
    }
    mpq_set_d(q, y->real[e]);
    mpq_sub(q, out->v[e], q);
    mpq_mul(mean, q, out->t[e]);
    mpq_add(along, along, mean);
    mpq_add(along, along, mean);
    mpq_mul(q, q, q);
    mpq_add(value, value, q);
  }
  if (y != NULL) {
    mpq_set_ui(mean, 1, out->count);
    mpq_mul(value, value, mean);
    mpq_mul(along, along, mean);
  }
  mpq_clears(q, mean, NULL);
}

/* sum += <a, b> */
static void
add_inner(mpq_t sum, const clarke_matrix *a, const clarke_matrix *b)
{
  mpq_t p, q;

  mpq_inits(p, q, NULL);
  for (size_t i = 0; i < a->rows && b->rows > 0; i++)
    for (size_t j = 0; j < a->cols; j++) {
      clarke_matrix_get(p, a, i, j);
      clarke_matrix_get(q, b, i, j);
      mpq_mul(p, p, q);
      mpq_add(sum, sum, p);
    }
  mpq_clears(p, q, NULL);
}

static void
check_loss(machine *k, naive_run *r, const clarke_tensor *y, size_t number)
{
  clarke_loss loss = {.kind = y != NULL ? CLARKE_LOSS_MSE : CLARKE_LOSS_SUM, .y = y, .samples = k->replay.samples};
  mpq_t value, along, found;

  mpq_inits(value, along, found, NULL);
  naive_loss(value, along, naive_find(r, r->m->outputs[0].name), y);
  OK(clarke_loss_check(&loss, &k->g, &error));
  OK(clarke_loss_exact(found, &loss, &k->pass, &error));
  ck_assert_msg(mpq_equal(found, value), "network %zu: loss", number);
  OK(clarke_loss_seed(&k->grad[k->g.output], &loss, &k->pass, NULL, &error));
  mpq_set_ui(found, 0, 1);
  add_inner(found, &k->grad[k->g.output], &k->tangent[k->g.output]);
  ck_assert_msg(mpq_equal(found, along), "network %zu: the loss's own derivative", number);
  OK(clarke_reverse_run(k->grad, &k->pass, &k->slopes, CLARKE_NONE, clarke_gradient_sink, k->gradient,
                        &error));
  mpq_set_ui(found, 0, 1);
  for (size_t p = 0; p < k->g.n_parameters; p++) {
    ck_assert(k->gradient[p].rows == 0 || k->gradient[p].rows == k->g.parameters[p].count);
    add_inner(found, &k->gradient[p], &k->d[p]);
  }
  if (!mpq_equal(found, along)) {
    print_model(r->m);
    ck_abort_msg("network %zu: reverse mode differs from the tangent", number);
  }
  mpq_clears(value, along, found, NULL);
}

/* --- zeros ----------------------------------------------------------------------------------- */

static bool
is_zero_entry(const clarke_matrix *gradient, size_t e)
{
  mpq_t q;
  bool zero;

  mpq_init(q);
  if (gradient->rows > 0)
    clarke_matrix_get(q, gradient, e, 0);
  zero = mpq_sgn(q) == 0;
  mpq_clear(q);
  return zero;
}

/* What is said to be 0 is. How many are said to be so. */
static size_t
check_zeros(const clarke_zeros *z, const clarke_graph *g, const clarke_matrix *gradient, size_t number)
{
  size_t all = 0;

  ck_assert(z->known);
  for (size_t p = 0; p < g->n_parameters; p++) {
    const clarke_zero_counts counts = clarke_zeros_count(z, g, p);
    size_t n = 0;

    for (size_t e = 0; z->cause[p] != NULL && e < g->parameters[p].count; e++) {
      const bool said = (z->cause[p][e] & CLARKE_ZERO_NOT) == 0;

      ck_assert_uint_ne(z->cause[p][e], 0);
      ck_assert_msg(!said || is_zero_entry(&gradient[p], e), "network %zu: %s[%zu] is not 0", number, g->parameters[p].name, e);
      n += said;
    }
    ck_assert_uint_eq(counts.zero, n);
    all += n;
  }
  return all;
}

/* The gradient with sides that are drawn. */
static void
gradient_of_sides(clarke_matrix *gradient, const machine *k, uint64_t *state)
{
  const clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = k->replay.samples};
  clarke_branch *side = calloc(k->replay.n_touches + 1, sizeof *side);
  clarke_touch *touch = calloc(k->replay.n_touches + 1, sizeof *touch);
  clarke_matrix *grad = clarke_matrices_new(k->g.n_values);
  clarke_slopes slopes;

  clarke_slopes_init(&slopes);
  for (size_t t = 0; t < k->replay.n_touches; t++) {
    touch[t] = k->replay.touch[t];
    touch[t].column = touch[t].sample;
    side[t] = clarke_side_numbered(&touch[t], draw_below(state, clarke_touch_sides(&touch[t])));
  }
  OK(clarke_slopes_choose(&slopes, &k->pass, touch, k->replay.n_touches, side, &k->profile, &error));
  OK(clarke_loss_seed(&grad[k->g.output], &loss, &k->pass, NULL, &error));
  OK(clarke_reverse_run(grad, &k->pass, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, &error));
  clarke_matrices_free(grad, k->g.n_values);
  clarke_slopes_clear(&slopes);
  free(side);
  free(touch);
}

/* What the passes say to be 0 is, in exact numbers; and operands without any have none. */
static void
check_bytes(const clarke_zeros_pass *p, const machine *k)
{
  const clarke_graph *g = &k->g;

  for (size_t v = 0; v < g->n_values; v++)
    for (size_t e = 0; p->zero[v] != NULL && k->pass.value[v].rows > 0 && e < g->values[v].count * p->n; e++)
      ck_assert(!clarke_zeros_at(p, v, e / p->n, e % p->n) || clarke_matrix_entry_is_zero(&k->pass.value[v], e / p->n, e % p->n));
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_operand *o = &g->steps[i].in[0];
    const clarke_dense *d = &g->steps[i].dense;
    const bool lacks = g->steps[i].kind == CLARKE_SUM && clarke_zeros_lack(p, o, g->values[g->steps[i].out].count);

    for (size_t j = 0; lacks && j < p->n; j++) {
      uint8_t zero[64];

      ck_assert(!clarke_zeros_at(p, o->value, clarke_operand_entry(o, 0), j));
      memset(zero, 1, sizeof zero);
      if (p->n <= sizeof zero)
        clarke_zeros_and(zero, p, o, 0, 1);
      ck_assert(p->n > sizeof zero || zero[j] == 0);
    }
    if (g->steps[i].kind == CLARKE_DENSE && !d->grouped && !d->transposed)
      ck_assert(clarke_zeros_of_constant(&g->values[d->weight], clarke_zeros_weight(d, 0, 0, d->inner - 1)) == (g->values[d->weight].real[d->inner - 1] == 0));
  }
}

/* Both halves by themselves: the parameters' causes are those of the whole. */
static void
check_halves(const machine *k, const clarke_zeros *whole)
{
  const clarke_graph *g = &k->g;
  clarke_zeros z = {.n = g->n_parameters, .cause = calloc(g->n_parameters + 1, sizeof *z.cause)};
  clarke_zeros_pass p = {.r = &k->replay, .g = g, .profile = &k->profile, .n = k->replay.samples, .loose = true, .z = &z, .err = &error};

  p.needed = calloc(g->n_values + 1, sizeof *p.needed);
  p.carries = calloc(g->n_values + 1, sizeof *p.carries);
  p.zero = calloc(g->n_values + 1, sizeof *p.zero);
  p.cause = calloc(g->n_values + 1, sizeof *p.cause);
  p.by_kink = calloc(g->n_steps + 1, sizeof *p.by_kink);
  clarke_reverse_carriers(p.carries, g, CLARKE_NONE);
  clarke_graph_needed(g, true, p.needed);
  for (size_t v = 0; v < g->n_values; v++)
    if (p.needed[v] && p.carries[v] && !g->values[v].constant)
      p.cause[v] = calloc(g->values[v].count * p.n + 1, 1);
  ck_assert_uint_ge(clarke_zeros_rows(&p) * p.n, CLARKE_ZEROS_BLOCK);
  OK(clarke_zeros_forward(&p));
  check_bytes(&p, k);
  OK(clarke_zeros_backward(&p));
  for (size_t q = 0; q < g->n_parameters; q++)
    ck_assert(z.cause[q] == NULL || memcmp(z.cause[q], whole->cause[q], g->parameters[q].count) == 0);
  for (size_t v = 0; v < g->n_values; v++) {
    free(p.zero[v]);
    free(p.cause[v]);
  }
  free(p.needed);
  free(p.carries);
  free(p.zero);
  free(p.cause);
  free(p.by_kink);
  clarke_zeros_clear(&z);
}

/* AD's own gradient, and those of any sides: how many are said to be 0, by both. */
static void
compare_zeros(size_t said[2], const machine *k, uint64_t *state, size_t number)
{
  clarke_zeros ad, near;

  clarke_zeros_init(&ad);
  clarke_zeros_init(&near);
  OK(clarke_zeros_find(&ad, &k->replay, &k->profile, false, &error));
  OK(clarke_zeros_find(&near, &k->replay, &k->profile, true, &error));
  said[0] += check_zeros(&ad, &k->g, k->gradient, number);
  check_halves(k, &near);
  for (size_t i = 0; i < 2; i++) {
    clarke_matrix *gradient = clarke_matrices_new(k->g.n_parameters);

    gradient_of_sides(gradient, k, state);
    said[1] += check_zeros(&near, &k->g, gradient, number);
    clarke_matrices_free(gradient, k->g.n_parameters);
  }
  for (size_t p = 0; p < k->g.n_parameters; p++)
    ck_assert_uint_le(clarke_zeros_count(&near, &k->g, p).zero, clarke_zeros_count(&ad, &k->g, p).zero);
  clarke_zeros_clear(&near);
  clarke_zeros_clear(&ad);
}

/* Each cause on its own: a unit is dead, one at its kink, one has the weight 0 behind it, one is on. */
START_TEST(why_entries_are_zero)
{
  static const double w[] = {1, 1, 1, 0, 2, 1, 1, 0}, b[] = {-5, -0.5, 1, 1}, v[] = {1, 1, 0, 1};
  static const uint8_t of_w[] = {CLARKE_ZERO_FLAT, CLARKE_ZERO_KINK, CLARKE_ZERO_WEIGHT, CLARKE_ZERO_DATA,
                                 CLARKE_ZERO_FLAT, CLARKE_ZERO_KINK, CLARKE_ZERO_WEIGHT, CLARKE_ZERO_NOT};
  const char *const profile = "Relu 0 0\n";
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  clarke_zeros z;
  machine k;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2,));
  memcpy(model_floats(&m, "W", SHAPE(2, 4,)), w, sizeof w);
  memcpy(model_floats(&m, "b", SHAPE(4,)), b, sizeof b);
  memcpy(model_floats(&m, "v", SHAPE(4, 1,)), v, sizeof v);
  model_node(&m, "MatMul", "x,W", "p");
  model_node(&m, "Add", "p,b", "s");
  model_node(&m, "Relu", "s", "h");
  model_node(&m, "MatMul", "h,v", "y");
  model_output(&m, "y");
  x.real[1] = 0.5; /* x[0] is 0; unit 1 is at its kink */
  machine_begin(&k, &m, &x, profile, true);
  clarke_zeros_init(&z);
  OK(clarke_zeros_find(&z, &k.replay, &k.profile, false, &error));
  ck_assert(z.known);
  for (size_t e = 0; e < 8; e++)
    ck_assert_msg(z.cause[0][e] == of_w[e], "W[%zu]: %u", e, z.cause[0][e]);
  ck_assert_uint_eq(clarke_zeros_count(&z, &k.g, 0).zero, 7);
  ck_assert_uint_eq(clarke_zeros_count(&z, &k.g, 1).zero, 3);
  ck_assert_uint_eq(z.cause[2][0], CLARKE_ZERO_FACTOR);
  ck_assert_uint_eq(z.cause[2][2], CLARKE_ZERO_NOT);
  for (size_t i = 0; i < CLARKE_ZERO_CAUSES; i++)
    ck_assert_uint_gt(strlen(clarke_zero_cause_name(i)), 4);
  clarke_zeros_clear(&z);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* --- random networks ------------------------------------------------------------------------- */

/* Small numbers that meet kinks often. */
static double
small_quarter(uint64_t *state)
{
  double n = (double)draw_between(state, -4, 4);

  return draw_below(state, 3) == 0 ? n / 4 : n;
}

static clarke_tensor
draw_targets(const naive *out, uint64_t *state)
{
  long shape[NAIVE_RANK + 1];
  clarke_tensor y;

  for (size_t a = 0; a < out->rank; a++)
    shape[a] = (long)out->dims[a];
  shape[out->rank] = SHAPE_END;
  y = tensor_of("y", CLARKE_F64, shape);
  for (size_t e = 0; e < y.count; e++)
    y.real[e] = (double)draw_between(state, -8, 8) / 4;
  return y;
}

#define NETWORKS 1500

START_TEST(values_tangents_gradients_and_losses)
{
  uint64_t state = 11;
  size_t touches = 0, checked = 0, parameters = 0, zeros[2] = {0, 0};

  for (size_t i = 0; i < draw_count(NETWORKS); i++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, small_quarter, 2 + draw_below(&state, 9), i % 2), y;
    naive_run r = {.proxy = drawn_proxy};
    machine k;

    machine_begin(&k, &grown.m, &x, profile_text, draw_below(&state, 2));
    naive_begin(&r, &grown.m, &x);
    draw_direction(&k, &r, &state);
    naive_go(&r);
    OK(clarke_tangent_run(k.tangent, &k.pass, &k.slopes, k.d, &error));
    checked += check_values(&k, &r, i);
    y = draw_targets(naive_find(&r, grown.m.outputs[0].name), &state);
    check_loss(&k, &r, draw_below(&state, 2) ? &y : NULL, i);
    compare_zeros(zeros, &k, &state, i);
    touches += k.replay.n_touches;
    parameters += k.g.n_parameters;
    machine_end(&k);
    naive_clear(&r);
    clarke_tensor_clear(&x);
    clarke_tensor_clear(&y);
    clarke_model_clear(&grown.m);
  }
  printf("rational: %zu activations, %zu touches, %zu parameters; %zu entries of AD's gradient are 0, %zu whatever sides kinks take\n", checked,
         touches, parameters, zeros[0], zeros[1] / 2);
  ck_assert_uint_gt(zeros[0], draw_count(NETWORKS) / 4);
  ck_assert_uint_gt(zeros[1], draw_count(NETWORKS) / 4);
  ck_assert_uint_gt(touches, draw_count(NETWORKS));
}
END_TEST

/* --- the filter ------------------------------------------------------------------------------ */

static void
filter_networks(double (*number)(uint64_t *state), uint64_t seed, size_t n, size_t nodes, bool products)
{
  uint64_t state = seed;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < n; i++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, number, nodes, products && i % 2);

    compare_with_exact(&grown.m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("filter: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 8);
  ck_assert_uint_lt(filtered, total);
}

static double
scaled_double(uint64_t *state, long low, long high)
{
  double u = full_double(state);

  return ldexp(u, (int)draw_between(state, low, high));
}

START_TEST(filter_on_random_networks)
{
  filter_networks(small_quarter, 21, 400, 10, true);
  filter_networks(full_double, 22, 400, 10, true);
  filter_networks(any_double, 23, 400, 6, false); /* products would have too many digits */
}
END_TEST

/* W x + b with b the rounded -W x, moved by some units in its last place: sums that cancel just
 * below and just above what doubles can tell, and exactly. */
static void
draw_cancellation(clarke_model *m, clarke_tensor *x, uint64_t *state, const char *op, double kink)
{
  size_t n_in = 1 + draw_below(state, 40), n_out = 4;
  double *w, *b;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, (long)n_in,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(2, (long)n_in,));
  w = model_floats(m, "W", SHAPE((long)n_in, (long)n_out,));
  b = model_floats(m, "b", SHAPE((long)n_out,));
  long spread = (long)draw_below(state, 3) * 30;
  for (size_t i = 0; i < x->count; i++)
    x->real[i] = scaled_double(state, -spread, spread);
  for (size_t i = 0; i < n_in * n_out; i++)
    w[i] = scaled_double(state, -spread, spread);
  if (draw_below(state, 3) == 0) /* few bits: exact sums, ties */
    for (size_t i = 0; i < n_in * n_out; i++) {
      w[i] = (double)draw_between(state, -3, 3);
      x->real[i % x->count] = (double)draw_between(state, -3, 3);
    }
  for (size_t o = 0; o < n_out; o++) {
    size_t sample = draw_below(state, 2);
    long double sum = 0;

    for (size_t i = 0; i < n_in; i++)
      sum += (long double)w[i * n_out + o] * x->real[sample * n_in + i];
    b[o] = (double)((long double)kink - sum);
    for (size_t k = draw_below(state, 6); k > 0; k--)
      b[o] = nextafter(b[o], draw_below(state, 2) ? INFINITY : -INFINITY);
  }
  model_node(m, "MatMul", "x,W", "p");
  model_node(m, "Add", "p,b", "s");
  model_node(m, op, "s", "z");
  model_node(m, "Relu", "z", "y");
  model_output(m, "y");
}

START_TEST(filter_on_cancellations)
{
  static const struct {
    const char *op;
    double kink;
  } ops[] = {{"Relu", 0}, {"LeakyRelu", 0}, {"Abs", 0}, {"HardSwish", -3}, {"HardSwish", 3},
             {"HardSigmoid", -2.5}, {"HardSigmoid", 2.5}};
  uint64_t state = 31;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < draw_count(1400); i++) {
    clarke_model m;
    clarke_tensor x;

    draw_cancellation(&m, &x, &state, ops[i % 7].op, ops[i % 7].kink);
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("cancellations: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 8);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* Cancellation within one operator, a kink right after it: nothing else's bound can hide an
 * error in its own. */
START_TEST(filter_on_each_bound)
{
  uint64_t state = 51;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < draw_count(900); i++) {
    enum { WIDTH = 24 };
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, WIDTH,));
    long double sum = 0;
    double *w, near = -3 + fabs(full_double(&state)) * 0x1p-20;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, WIDTH,));
    switch (i % 3) {
    case 0: /* one long inner product: its last term takes the others off, to some units */
      w = model_floats(&m, "W", SHAPE(WIDTH, 1,));
      for (size_t k = 0; k + 1 < WIDTH; k++) {
        w[k] = full_double(&state);
        x.real[k] = full_double(&state);
        sum += (long double)w[k] * x.real[k];
      }
      x.real[WIDTH - 1] = 1;
      w[WIDTH - 1] = (double)-sum;
      model_node(&m, "MatMul", "x,W", "s");
      break;
    case 1: /* ((x + c + e + e + e) - c - some units of c), each sum off by half a unit */
      model_floats(&m, "c", SHAPE(1,))[0] = 0x1p40;
      model_floats(&m, "e", SHAPE(1,))[0] = full_double(&state) * 0x1p-12;
      model_floats(&m, "d", SHAPE(1,))[0] = 0x1p40 + 0x1p-12 * (double)draw_between(&state, -4, 4);
      for (size_t k = 0; k < WIDTH; k++)
        x.real[k] = full_double(&state) * 0x1p-11;
      model_node(&m, "Add", "x,c", "t0");
      model_node(&m, "Add", "t0,e", "t1");
      model_node(&m, "Add", "t1,e", "t2");
      model_node(&m, "Add", "e,t2", "t3");
      model_node(&m, "Sub", "t3,d", "s");
      break;
    default: /* x (x + 3) / 6 near -3, next to its value at some x nearby */
      for (size_t k = 0; k < WIDTH; k++)
        x.real[k] = near + 0x1p-51 * ((double)k - WIDTH / 2);
      model_floats(&m, "c", SHAPE())[0] = (double)((long double)near * (near + 3) / 6);
      model_node(&m, "HardSwish", "x", "h");
      model_node(&m, "Clip", "h,c", "s");
    }
    model_node(&m, "Relu", "s", "y");
    model_output(&m, "y");
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("single bounds: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 8);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* A fine pass at its bound of (n + 4) 2^-53 |w| |x|: 1 + e + e + ... with e just over half a unit, each sum of which
 * is rounded up by just under half of one. A bias takes the 1 off, and the share `taken` of the errors that doubles
 * make when they add in this order; so does its opposite. The other samples are far from the kink: only the first
 * is left to the fine pass. */
static void
draw_largest_errors(clarke_model *m, clarke_tensor *x, long n, double taken)
{
  const double e = 0x1p-53 * (1 + 0x1p-20);
  double *w, *b, sum = 1;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, n,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(4, n,));
  w = model_floats(m, "W", SHAPE(n, 2,));
  b = model_floats(m, "b", SHAPE(2,));
  for (size_t i = 0; i < x->count; i++)
    x->real[i] = i < (size_t)n ? 1 : 2;
  for (long k = 0; k < n; k++) {
    w[2 * k] = k == 0 ? 1 : e;
    w[2 * k + 1] = -w[2 * k];
    sum += k == 0 ? 0 : e;
  }
  /* The errors' sum is (n - 1) 2^-53, nearly. */
  b[0] = -(sum - fmax(1, rint(taken * (double)(n - 1) / 2)) * 0x1p-52);
  b[1] = -b[0];
  ck_assert(sum + b[0] > 0 && sum + b[0] < (double)(n - 1) * 0x1p-53 * (1 - 0x1p-20));
  model_node(m, "MatMul", "x,W", "p");
  model_node(m, "Add", "p,b", "s");
  model_node(m, "Relu", "s", "y");
  model_output(m, "y");
}

START_TEST(filter_at_the_bound_of_a_fine_pass)
{
  size_t filtered = 0, total = 0;

  for (long n = 16; n <= 128; n += 16)
    for (int share = 1; share < 16; share++) {
      clarke_model m;
      clarke_tensor x;

      draw_largest_errors(&m, &x, n, share / 16.0);
      compare_with_exact(&m, &x, &filtered, &total);
      clarke_tensor_clear(&x);
      clarke_model_clear(&m);
    }
  printf("largest errors: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 2);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* --- functions before kinks ------------------------------------------------------------------ */

static const struct {
  const char *op;
  double (*near)(double);
  const char *behind; /* a function with a domain, or NULL */
} smooth[] = {
  {"Tanh", tanh, NULL}, {"Erf", erf, NULL}, {"Sin", sin, NULL}, {"Cos", cos, NULL}, {"Atan", atan, NULL}, {"Exp", exp, NULL}, {"Exp", exp, "Sqrt"}, {"Exp", exp, "Reciprocal"},
};

/* relu(f(x) W + b), b taking off what the C library makes of the first sample, but for some units: its arguments are far below the
 * others', and doubles leave some of them open. */
static void
draw_functions(clarke_model *m, clarke_tensor *x, uint64_t *state, size_t kind)
{
  const long n = draw_between(state, 1, 6), rows = draw_between(state, 1, 5);
  double *w, *b;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, n,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(4, n,));
  w = model_floats(m, "W", SHAPE(n, rows,));
  b = model_floats(m, "b", SHAPE(rows,));
  for (size_t i = 0; i < x->count; i++)
    x->real[i] = (double)draw_between(state, -40000, 40000) / 10007;
  for (long i = 0; i < rows; i++) {
    b[i] = 0;
    for (long k = 0; k < n; k++) {
      const double y = smooth[kind].near(x->real[k]);

      w[k * rows + i] = (double)draw_between(state, -8, 8) / 8;
      b[i] -= w[k * rows + i] * (smooth[kind].behind == NULL ? y : smooth[kind].behind[0] == 'S' ? sqrt(y) : 1 / y);
    }
    b[i] += (double)draw_between(state, -8, 8) * 0x1p-54;
  }
  model_node(m, smooth[kind].op, "x", "f");
  if (smooth[kind].behind != NULL)
    model_node(m, smooth[kind].behind, "f", "g");
  model_node(m, "MatMul", smooth[kind].behind != NULL ? "g,W" : "f,W", "p");
  model_node(m, "Add", "p,b", "s");
  model_node(m, "Relu", "s", "y");
  model_output(m, "y");
}

START_TEST(functions_before_kinks)
{
  uint64_t state = 21 + (uint64_t)_i;
  size_t filtered = 0, total = 0;

  refined_entries = 0;
  for (int round = 0; round < 60; round++) {
    clarke_model m;
    clarke_tensor x;

    draw_functions(&m, &x, &state, (size_t)_i);
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("%s: %zu of %zu in doubles, %zu in enclosures\n", smooth[_i].op, filtered, total, refined_entries);
  ck_assert(smooth[_i].behind != NULL ? filtered == 0 : filtered > total / 2 && filtered < total);
  ck_assert_uint_gt(refined_entries, 20);
}
END_TEST

/* So many entries that threads share the samples, 32 to each. */
#define SHARED_FEATURES 22000
#define SHARED_SAMPLES 96

/* relu(-erf(x)), as many samples as there are columns; every sample is in cells of its own. */
static void
shared_samples(clarke_model *m, clarke_tensor *x)
{
  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, SHARED_FEATURES,));
  *x = tensor_of("x", CLARKE_F64, SHAPE(SHARED_SAMPLES, SHARED_FEATURES,));
  for (size_t i = 0; i < x->count; i++)
    x->real[i] = (i % 2 == 0 ? 0.375 : -0.375) * (double)(i / SHARED_FEATURES + 1) + (double)(i % 7) / 128;
  model_node(m, "Erf", "x", "f");
  model_node(m, "Neg", "f", "g");
  model_node(m, "Relu", "g", "y");
  model_output(m, "y");
}

/* Each thread makes cells, and keeps nothing of Arb's when it ends (which sanitizers tell). */
START_TEST(functions_on_threads)
{
  clarke_model m;
  clarke_tensor x;
  clarke_graph g;
  clarke_replay r;

  shared_samples(&m, &x);
  clarke_graph_init(&g);
  clarke_replay_init(&r);
  OK(clarke_graph_build(&g, &m, &x, &error));
  ck_assert_uint_gt(g.activations / SHARED_SAMPLES, (1 << 21) / 33);
  OK(clarke_replay_run(&r, NULL, &g, &x, false, 3, &error));
  ck_assert_uint_eq(r.filtered, x.count);
  for (size_t i = 0; i < x.count; i++)
    ck_assert_int_eq(r.piece[2][i % SHARED_FEATURES * SHARED_SAMPLES + i / SHARED_FEATURES], x.real[i] < 0);
  clarke_replay_clear(&r);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* --- where enclosures begin ------------------------------------------------------------------ */

#define LAYERS ((size_t)20)

/* What is guessed where all of each layer from `lost` to `last` is open, and `before` in a hundred of the others; *touched: is some
 * kink taken for touched, where layer `single` has an open place, too? */
static size_t
guess(bool *touched, size_t single, size_t lost, size_t last, size_t before, clarke_step_kind first)
{
  clarke_value values[2 * LAYERS + 1];
  clarke_step steps[2 * LAYERS];
  clarke_branch place[LAYERS][100], *piece[2 * LAYERS] = {NULL};
  clarke_graph g = {.n_values = 2 * LAYERS + 1, .n_steps = 2 * LAYERS, .values = values, .steps = steps};
  const clarke_replay r = {.g = &g, .samples = 1, .piece = piece};

  memset(values, 0, sizeof values);
  memset(steps, 0, sizeof steps);
  for (size_t l = 0; l < LAYERS; l++) {
    steps[2 * l].kind = l == 0 ? first : CLARKE_DENSE;
    steps[2 * l + 1].kind = CLARKE_PIECEWISE;
    steps[2 * l + 1].out = l;
    values[l].count = 100;
    piece[2 * l + 1] = place[l];
    for (size_t e = 0; e < 100; e++)
      place[l][e] = (l >= lost && l <= last) || e < before ? CLARKE_OPEN : 1;
  }
  if (single < LAYERS)
    place[single][7] = CLARKE_OPEN;
  *touched = clarke_replay_touches_early(&r);
  return clarke_replay_bits(&r);
}

static size_t
bits_where(size_t lost, size_t last, size_t before, clarke_step_kind first)
{
  bool touched;

  return guess(&touched, LAYERS, lost, last, before, first);
}

/* An open place before half of the layers that doubles decide is taken for a touched kink; not one behind, where errors may have grown. */
START_TEST(what_is_taken_for_touched)
{
  bool touched;

  guess(&touched, 3, 10, LAYERS - 1, 0, CLARKE_DENSE);
  ck_assert(touched);
  guess(&touched, 7, 10, LAYERS - 1, 0, CLARKE_DENSE);
  ck_assert(!touched);
  guess(&touched, LAYERS, 10, LAYERS - 1, 0, CLARKE_DENSE);
  ck_assert(!touched);
  guess(&touched, 3, LAYERS, 0, 0, CLARKE_DENSE); /* all others are decided: enclosures cost little */
  ck_assert(!touched);
}
END_TEST

START_TEST(where_enclosures_begin)
{
  ck_assert_uint_eq(bits_where(LAYERS, 0, 0, CLARKE_DENSE), CLARKE_BITS_FIRST);
  ck_assert_uint_eq(bits_where(LAYERS, 0, 50, CLARKE_DENSE), CLARKE_BITS_FIRST); /* touched, perhaps */
  ck_assert_uint_eq(bits_where(0, LAYERS - 1, 0, CLARKE_DENSE), CLARKE_BITS_FIRST); /* no filter */
  ck_assert_uint_eq(bits_where(18, 19, 1, CLARKE_DENSE), 63);
  ck_assert_uint_eq(bits_where(15, 19, 1, CLARKE_DENSE), 127);
  ck_assert_uint_eq(bits_where(5, 9, 0, CLARKE_DENSE), 127);
  ck_assert_uint_eq(bits_where(5, 9, 1, CLARKE_DENSE), CLARKE_BITS_FIRST); /* the layers behind are decided again */
  ck_assert_uint_eq(bits_where(5, 19, 0, CLARKE_DENSE), 191);
  ck_assert_uint_eq(bits_where(5, 19, 0, CLARKE_ANALYTIC), 191);
  ck_assert_uint_eq(bits_where(5, 19, 0, CLARKE_SOFTMAX), 127); /* the filter does not follow it */
  ck_assert_uint_eq(bits_where(5, 6, 0, CLARKE_SOFTMAX), CLARKE_BITS_FIRST);
  ck_assert_uint_eq(bits_where(3, 3, 0, CLARKE_DENSE), CLARKE_BITS_FIRST);
  ck_assert_uint_eq(bits_where(12, 12, 0, CLARKE_DENSE), 127); /* one layer of kinks, deep down */
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-replay");

  tcase_add_test(tcase, why_entries_are_zero);
  tcase_add_test(tcase, values_tangents_gradients_and_losses);
  tcase_add_test(tcase, filter_on_random_networks);
  tcase_add_test(tcase, filter_on_cancellations);
  tcase_add_test(tcase, filter_on_each_bound);
  tcase_add_test(tcase, filter_at_the_bound_of_a_fine_pass);
  tcase_add_loop_test(tcase, functions_before_kinks, 0, (int)(sizeof smooth / sizeof *smooth));
  tcase_add_test(tcase, functions_on_threads);
  tcase_add_test(tcase, where_enclosures_begin);
  tcase_add_test(tcase, what_is_taken_for_touched);
  return run_tests();
}
