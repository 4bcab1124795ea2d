/* Networks unrolled to programs: values and AD's gradients of random networks three ways (an
 * evaluator of this file's own, the library's execution of the program, and the replay of the graph
 * itself), networks with transcendental functions against their formulas, and what is refused. */
#include "naive.h"
#include "networks.h"
#include "../ok.h"

#include "exact/matrix.h"
#include "network/graph/build.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "program/unroll/floats.h"
#include "program/execute.h"
#include "network/derive/loss.h"

#include <math.h>

static const char profile_text[] =
  "Relu 0 1/3\nLeakyRelu 0 right\nPRelu 0 left\nAbs 0 -1/2\nClip 0 left\nClip 1 2/7\n"
  "HardSigmoid 0 1/12\nHardSigmoid 1 right\nHardSwish 0 right\nHardSwish 1 5\n";

static mpq_t *
rationals(size_t n)
{
  mpq_t *q = malloc((n + 1) * sizeof *q);

  for (size_t i = 0; i < n; i++)
    mpq_init(q[i]);
  return q;
}

static void
free_rationals(mpq_t *q, size_t n)
{
  for (size_t i = 0; q != NULL && i < n; i++)
    mpq_clear(q[i]);
  free(q);
}

/* --- an evaluator of rational programs ---------------------------------------------------------- */

static size_t
input_entry(const clarke_code *p, size_t instruction)
{
  size_t entry = 0;

  for (size_t k = 0; k < p->n_inputs; k++) {
    if (instruction >= p->input[k].first && instruction < p->input[k].first + p->input[k].n)
      return entry + instruction - p->input[k].first;
    entry += p->input[k].n;
  }
  ck_abort_msg("instruction %zu is no input's", instruction);
}

/* The pieces on the two sides of x: equal inside a piece. */
static void
sides(size_t side[2], const clarke_pieces *p, const mpq_t x)
{
  side[0] = side[1] = 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    side[0] += mpq_cmp(x, p->kink[k]) > 0;
    side[1] += mpq_cmp(x, p->kink[k]) >= 0;
  }
}

static void
value_of(mpq_t y, const clarke_instruction *i, mpq_t *value)
{
  mpq_t t;
  size_t side[2];

  mpq_init(t);
  switch (i->kind) {
  case CLARKE_DO_CONSTANT:
    mpq_set(y, i->coef[0]);
    break;
  case CLARKE_DO_LINEAR:
    mpq_set(y, i->coef[i->n_in]);
    for (size_t k = 0; k < i->n_in; k++) {
      mpq_mul(t, i->coef[k], value[i->in[k]]);
      mpq_add(y, y, t);
    }
    break;
  case CLARKE_DO_PRODUCT:
    mpq_mul(y, value[i->in[0]], value[i->in[1]]);
    break;
  case CLARKE_DO_QUOTIENT:
    mpq_div(y, value[i->in[0]], value[i->in[1]]);
    break;
  case CLARKE_DO_PIECEWISE:
    sides(side, i->pieces, value[i->in[0]]);
    mpq_set_ui(y, 0, 1);
    for (size_t c = 3; c-- > 0;) {
      mpq_mul(y, y, value[i->in[0]]);
      mpq_add(y, y, i->pieces->coef[side[1]][c]);
    }
    break;
  default:
    ck_abort_msg("an instruction of kind %d in a rational network", i->kind);
  }
  mpq_clear(t);
}

static void
slope_of(mpq_t d, const clarke_pieces *p, size_t piece, const mpq_t x)
{
  mpq_mul(d, p->coef[piece][2], x);
  mpq_add(d, d, d);
  mpq_add(d, d, p->coef[piece][1]);
}

/* The slope that AD takes; *touched counts kinks with two slopes. */
static void
piecewise_slope(mpq_t d, const clarke_instruction *i, const mpq_t x, const clarke_profile *profile,
                size_t *touched)
{
  const clarke_proxy *proxy;
  size_t side[2];
  mpq_t left;

  mpq_init(left);
  sides(side, i->pieces, x);
  slope_of(left, i->pieces, side[0], x);
  slope_of(d, i->pieces, side[1], x);
  if (!mpq_equal(left, d)) {
    *touched += 1;
    proxy = clarke_profile_find(profile, i->op, i->pieces->first_kink + side[0]);
    ck_assert_ptr_nonnull(proxy);
    if (proxy->kind == CLARKE_PROXY_LEFT)
      mpq_set(d, left);
    else if (proxy->kind == CLARKE_PROXY_VALUE)
      mpq_set(d, proxy->value);
  }
  mpq_clear(left);
}

/* adjoint[in] += adjoint[at] d. */
static void
give(mpq_t *adjoint, size_t in, size_t at, const mpq_t d)
{
  mpq_t t;

  mpq_init(t);
  mpq_mul(t, adjoint[at], d);
  mpq_add(adjoint[in], adjoint[in], t);
  mpq_clear(t);
}

static void
pull_back(mpq_t *adjoint, const clarke_code *p, size_t at, mpq_t *value,
          const clarke_profile *profile, size_t *touched)
{
  const clarke_instruction *i = &p->instruction[at];
  mpq_t d;

  mpq_init(d);
  if (i->kind == CLARKE_DO_LINEAR)
    for (size_t k = 0; k < i->n_in; k++)
      give(adjoint, i->in[k], at, i->coef[k]);
  else if (i->kind == CLARKE_DO_PRODUCT)
    for (size_t k = 0; k < 2; k++)
      give(adjoint, i->in[k], at, value[i->in[1 - k]]);
  else if (i->kind == CLARKE_DO_QUOTIENT) {
    mpq_inv(d, value[i->in[1]]);
    give(adjoint, i->in[0], at, d);
    mpq_mul(d, d, value[at]);
    mpq_neg(d, d);
    give(adjoint, i->in[1], at, d);
  } else if (i->kind == CLARKE_DO_PIECEWISE) {
    piecewise_slope(d, i, value[i->in[0]], profile, touched);
    give(adjoint, i->in[0], at, d);
  }
  mpq_clear(d);
}

/* Values of all instructions, and their adjoints for the sum of the outputs. */
static size_t
evaluate(mpq_t *value, mpq_t *adjoint, const clarke_code *p, mpq_t *point,
         const clarke_profile *profile)
{
  size_t touched = 0;

  for (size_t i = 0; i < p->n; i++) {
    for (size_t k = 0; k < p->instruction[i].n_in; k++)
      ck_assert_uint_lt(p->instruction[i].in[k], i);
    if (p->instruction[i].kind == CLARKE_DO_INPUT)
      mpq_set(value[i], point[input_entry(p, i)]);
    else
      value_of(value[i], &p->instruction[i], value);
  }
  for (size_t o = 0; o < p->n_outputs; o++) {
    mpq_t one;

    mpq_init(one);
    mpq_set_ui(one, 1, 1);
    mpq_add(adjoint[p->output[o]], adjoint[p->output[o]], one);
    mpq_clear(one);
  }
  for (size_t i = p->n; i-- > 0;)
    pull_back(adjoint, p, i, value, profile, &touched);
  return touched;
}

/* --- the graph's own replay --------------------------------------------------------------------- */

typedef struct {
  clarke_replay replay;
  clarke_forward pass;
  clarke_slopes slopes;
  clarke_matrix *grad, *gradient;
} machine;

/* AD of the sum of the outputs on the whole batch. */
static void
machine_run(machine *k, const clarke_graph *g, const clarke_tensor *x,
            const clarke_profile *profile)
{
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = x->dims[0]};

  memset(k, 0, sizeof *k);
  clarke_replay_init(&k->replay);
  clarke_forward_init(&k->pass);
  clarke_slopes_init(&k->slopes);
  OK(clarke_replay_run(&k->replay, NULL, g, x, true, 1, &error));
  OK(clarke_replay_all(&k->pass, &k->replay, true, 128, &error));
  OK(clarke_slopes_of_ad(&k->slopes, &k->pass, &k->replay, profile, &error));
  k->grad = clarke_matrices_new(g->n_values);
  k->gradient = clarke_matrices_new(g->n_parameters);
  OK(clarke_loss_seed(&k->grad[g->output], &loss, &k->pass, NULL, &error));
  OK(clarke_reverse_run(k->grad, &k->pass, &k->slopes, CLARKE_NONE, clarke_gradient_sink, k->gradient,
                        &error));
}

static void
machine_end(machine *k, const clarke_graph *g)
{
  clarke_matrices_free(k->grad, g->n_values);
  clarke_matrices_free(k->gradient, g->n_parameters);
  clarke_slopes_clear(&k->slopes);
  clarke_forward_clear(&k->pass);
  clarke_replay_clear(&k->replay);
}

/* Entry of a matrix; of one without rows, zero. */
static void
entry_of(mpq_t q, const clarke_matrix *m, size_t row)
{
  mpq_set_ui(q, 0, 1);
  if (m->rows > 0)
    clarke_matrix_get(q, m, row, 0);
}

/* Is the entry that number; or an enclosure of it, where numbers are too long? Of a matrix without rows it is zero. */
static bool
entry_holds(const clarke_matrix *m, size_t row, const mpq_t value)
{
  mpq_t apart, radius;
  bool holds;

  mpq_inits(apart, radius, NULL);
  entry_of(apart, m, row);
  mpq_sub(apart, apart, value);
  mpq_abs(apart, apart);
  if (m->rows > 0)
    mpq_set_d(radius, clarke_matrix_radius(m, row, 0));
  holds = mpq_cmp(apart, radius) <= 0;
  mpq_clears(apart, radius, NULL);
  return holds;
}

/* Touches of steps that the output depends on. */
static size_t
needed_touches(const machine *k, const clarke_graph *g)
{
  bool *needed = calloc(g->n_values, 1);
  size_t n = 0;

  needed[g->output] = true;
  for (size_t i = g->n_steps; i-- > 0;)
    for (size_t o = 0; needed[g->steps[i].out] && o < g->steps[i].n_in; o++)
      needed[g->steps[i].in[o].value] = true;
  for (size_t i = 0; i < k->replay.n_touches; i++)
    n += needed[g->steps[k->replay.touch[i].step].out];
  free(needed);
  return n;
}

/* --- random rational networks ------------------------------------------------------------------- */

typedef struct {
  clarke_graph g;
  clarke_profile profile;
  clarke_code p;
  mpq_t *point;
  size_t n;
} unrolled;

static void
unrolled_begin(unrolled *u, const clarke_model *m, const clarke_tensor *x)
{
  memset(u, 0, sizeof *u);
  clarke_graph_init(&u->g);
  clarke_code_init(&u->p);
  clarke_profile_init(&u->profile);
  OK(clarke_graph_build(&u->g, m, x, &error));
  OK(clarke_profile_parse(&u->profile, profile_text, strlen(profile_text), "drawn", &error));
}

static void
unrolled_end(unrolled *u)
{
  free_rationals(u->point, u->n);
  clarke_code_clear(&u->p);
  clarke_profile_clear(&u->profile);
  clarke_graph_clear(&u->g);
}

/* Takes the slopes of PRelu out of wrt; how many there were in it. */
static size_t
drop_slopes(clarke_graph *g)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_PIECEWISE && g->steps[i].pieces.slope != CLARKE_NONE &&
        clarke_value_is_wrt(g, g->steps[i].pieces.slope)) {
      g->parameters[g->values[g->steps[i].pieces.slope].parameter].wrt = false;
      n++;
    }
  return n;
}

static void
check_layout(const unrolled *u, const char *input_name)
{
  size_t k = 1;

  ck_assert_str_eq(u->p.input[0].name, input_name);
  ck_assert_uint_eq(u->p.input[0].n, u->g.values[u->g.input].count);
  for (size_t i = 0; i < u->g.n_parameters; i++) {
    if (!u->g.parameters[i].wrt)
      continue;
    ck_assert_str_eq(u->p.input[k].name, u->g.parameters[i].name);
    ck_assert_uint_eq(u->p.input[k].n, u->g.parameters[i].count);
    ck_assert(u->p.input[k++].wrt);
  }
  ck_assert_uint_eq(u->p.n_inputs, k);
  ck_assert(u->p.input[0].wrt == (k == 1));
  ck_assert_uint_eq(u->n, clarke_code_entries(&u->p));
}

/* The library's own execution agrees with this file's. */
static void
check_execution(const unrolled *u, mpq_t *value, mpq_t *adjoint, size_t touched, size_t number)
{
  size_t n = clarke_code_wrt_count(&u->p), outputs = u->p.n_outputs, entry = 0;
  clarke_number *gradient = clarke_numbers(outputs * n), sum;
  clarke_execution e;

  clarke_execution_init(&e);
  clarke_number_init(&sum);
  OK(clarke_execute(&e, &u->p, u->point, &error));
  OK(clarke_execution_ad(gradient, &e, &u->profile, &error));
  ck_assert_msg(e.n_touched == touched, "network %zu: %zu touched, expected %zu", number,
                e.n_touched, touched);
  for (size_t i = 0; i < u->p.n; i++)
    ck_assert_msg(!e.live[i] || (e.value[i].exact && mpq_equal(e.value[i].q, value[i])),
                  "network %zu: instruction %zu", number, i);
  for (size_t k = 0; k < u->p.n_inputs; k++)
    for (size_t i = 0; u->p.input[k].wrt && i < u->p.input[k].n; i++, entry++) {
      clarke_number_set_si(&sum, 0);
      for (size_t o = 0; o < outputs; o++)
        clarke_number_add(&sum, &sum, &gradient[o * n + entry], 64);
      ck_assert_msg(sum.exact && mpq_equal(sum.q, adjoint[u->p.input[k].first + i]),
                    "network %zu: AD in entry %zu", number, entry);
    }
  clarke_number_clear(&sum);
  clarke_numbers_free(gradient, outputs * n);
  clarke_execution_clear(&e);
}

static void
check_replay(const unrolled *u, const clarke_tensor *x, mpq_t *value, mpq_t *adjoint,
             size_t touched, size_t number)
{
  const clarke_graph *g = &u->g;
  machine k;

  machine_run(&k, g, x, &u->profile);
  ck_assert_uint_eq(u->p.n_outputs, g->values[g->output].count);
  for (size_t o = 0; o < u->p.n_outputs; o++)
    ck_assert_msg(entry_holds(&k.pass.value[g->output], o, value[u->p.output[o]]), "network %zu: output %zu", number, o);
  for (size_t i = 0, input = 1; i < g->n_parameters; i++) {
    if (!g->parameters[i].wrt)
      continue;
    for (size_t e = 0; e < g->parameters[i].count; e++)
      ck_assert_msg(entry_holds(&k.gradient[i], e, adjoint[u->p.input[input].first + e]),
                    "network %zu: the gradient in %s[%zu]", number, g->parameters[i].name, e);
    input++;
  }
  ck_assert_uint_eq(needed_touches(&k, g), touched);
  machine_end(&k, g);
}

static double
small_number(uint64_t *state)
{
  double n = (double)draw_between(state, -4, 4);

  return draw_below(state, 3) == 0 ? n / 4 : n;
}

/* --- floats ------------------------------------------------------------------------------------- */

static bool
same_bits(double a, double b)
{
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* What an output's derivative is, with matrix products whole and without. */
static void
check_output(clarke_floats *f, const clarke_rounded *r, const clarke_profile *profile, size_t output, size_t number)
{
  const size_t wrt = r->n_gradient / r->n_values;
  double *gradient = calloc(wrt + 1, sizeof *gradient), *seed = calloc(r->n_values, sizeof *seed);
  double *y = calloc(r->n_values, sizeof *y);

  OK(clarke_floats_forward(f, y, 0, &error));
  for (size_t o = 0; o < r->n_values; o++)
    ck_assert_msg(same_bits(y[o], r->value[o]), "network %zu, output %zu: %a, not %a", number, o, y[o], r->value[o]);
  /* Seeds of 0 reach what the one of 1 alone does not: they add zeros, whose signs are not looked at. */
  seed[output] = 1;
  OK(clarke_floats_backward(f, gradient, seed, profile, &error));
  for (size_t e = 0; e < wrt; e++)
    ck_assert_msg(gradient[e] == r->gradient[output * wrt + e] || same_bits(gradient[e], r->gradient[output * wrt + e]) ||
                    !isfinite(gradient[e]), "network %zu, output %zu, entry %zu: %a, not %a", number, output, e, gradient[e],
                  r->gradient[output * wrt + e]);
  free(gradient);
  free(seed);
  free(y);
}

/* A kink is touched where one of the program's instructions for the step is, in floats. */
static size_t
touches_in_floats(clarke_floats *f, const clarke_graph *g)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t e = 0; clarke_step_has_kinks(&g->steps[i]) && e < g->values[g->steps[i].out].count; e++)
      n += clarke_floats_is_touched(f, 0, i, e);
  return n;
}

/* Of a folded program no instruction stands for a product; the blocks' results are inputs. */
static void
check_folded(const clarke_graph *g, const clarke_tensor *x)
{
  clarke_folded folded = {0};
  mpq_t *point = NULL;
  size_t n = 0, dense = 0;
  clarke_code p;

  clarke_code_init(&p);
  OK(clarke_unroll_folded(&p, &point, &n, &folded, g, x, &error));
  ck_assert(clarke_code_is_valid(&p));
  for (size_t i = 0; i < g->n_steps; i++)
    dense += g->steps[i].kind == CLARKE_DENSE && folded.at[g->steps[i].out] != NULL;
  ck_assert_uint_eq(folded.n, dense);
  for (size_t b = 0; b < folded.n; b++)
    for (size_t f = 0; f < folded.block[b].n; f++)
      ck_assert(p.instruction[folded.block[b].first + f].kind == CLARKE_DO_INPUT);
  clarke_folded_clear(&folded);
  clarke_code_clear(&p);
  free_rationals(point, n);
}

/* The operations between passes are the format's. */
static void
check_operations(clarke_floats *f, clarke_ieee format)
{
  const bool narrow = format == CLARKE_IEEE_F16 || format == CLARKE_IEEE_BF16;

  ck_assert(clarke_floats_of(f, 0.1) == (format == CLARKE_IEEE_F64 ? 0.1 : format == CLARKE_IEEE_F32 ? (double)0.1f : format == CLARKE_IEEE_F16 ? 0x1.998p-4 : 0x1.9ap-4));
  ck_assert((clarke_floats_add(f, 4096, 1) == 4096) == narrow);
  ck_assert((clarke_floats_mul(f, 65, 65) == 4225) == !narrow);
  ck_assert(clarke_floats_div(f, 1, 4) == 0.25 && clarke_floats_exp(f, 0) == 1 && clarke_floats_log(f, 1) == 0);
}

/* The network's replay in floats is its unrolled program's: of the batch, whose entries become multiples of `factor`. */
static size_t
check_floats(const unrolled *u, const clarke_tensor *x, double factor, size_t number)
{
  const clarke_ieee format = (clarke_ieee)(number % 4);
  mpq_t *point = NULL;
  clarke_floats *f;
  clarke_rounded r;
  clarke_code p;
  size_t n = 0, touched;

  for (size_t e = 0; x->real != NULL && e < x->count; e++)
    x->real[e] *= factor;
  clarke_code_init(&p);
  clarke_rounded_init(&r);
  OK(clarke_unroll(&p, &point, &n, &u->g, x, "in", &error));
  OK(clarke_rounded_run(&r, &p, point, format, &u->profile, &error));
  OK(clarke_floats_new(&f, &u->g, x, format, &error));
  check_folded(&u->g, x);
  check_operations(f, format);
  for (size_t o = 0; o < r.n_values && o < 3; o++)
    check_output(f, &r, &u->profile, o, number);
  touched = touches_in_floats(f, &u->g);
  clarke_floats_free(f);
  clarke_rounded_clear(&r);
  clarke_code_clear(&p);
  free_rationals(point, n);
  return touched;
}

/* The first sample alone. */
static clarke_tensor
first_sample(const clarke_tensor *x)
{
  long shape[CLARKE_MAX_RANK + 1];
  clarke_tensor one;

  for (size_t a = 0; a < x->rank; a++)
    shape[a] = a == 0 ? 1 : (long)x->dims[a];
  shape[x->rank] = SHAPE_END;
  one = tensor_of("x", CLARKE_F64, shape);
  memcpy(one.real, x->real, one.count * sizeof *one.real);
  return one;
}

/* A graph built for the whole batch gives the program of its first sample. */
static void
unroll_one(unrolled *u, const clarke_tensor *x, size_t number, size_t *refusals)
{
  clarke_status status = clarke_unroll(&u->p, &u->point, &u->n, &u->g, x, "in", &error);

  if (status != CLARKE_OK) {
    says(error.text, "net.onnx|PRelu|its slope is in wrt");
    ck_assert_ptr_null(u->point);
    ck_assert_msg(drop_slopes(&u->g) > 0, "network %zu: %s", number, error.text);
    *refusals += 1;
    clarke_code_clear(&u->p);
    OK(clarke_unroll(&u->p, &u->point, &u->n, &u->g, x, "in", &error));
  }
  check_layout(u, "in");
}

#define NETWORKS 1500

START_TEST(random_networks)
{
  uint64_t state = 71;
  size_t touches = 0, instructions = 0, entries = 0, refusals = 0, in_floats = 0;

  for (size_t i = 0; i < NETWORKS; i++) {
    growing grown;
    clarke_tensor x = grow_any(&grown, &state, small_number, 2 + draw_below(&state, 9), i % 2, false, false);
    clarke_tensor one = first_sample(&x);
    mpq_t *value, *adjoint;
    size_t touched;
    unrolled u;

    unrolled_begin(&u, &grown.m, &x);
    for (size_t k = 0; k < u.g.n_parameters; k++)
      u.g.parameters[k].wrt = draw_below(&state, 4) > 0;
    unroll_one(&u, &x, i, &refusals);
    value = rationals(u.p.n);
    adjoint = rationals(u.p.n);
    touched = evaluate(value, adjoint, &u.p, u.point, &u.profile);
    check_execution(&u, value, adjoint, touched, i);
    check_replay(&u, &one, value, adjoint, touched, i);
    in_floats += check_floats(&u, &x, i / 4 % 2 == 0 ? 1 : 1.1, i);
    touches += touched;
    instructions += u.p.n;
    entries += clarke_code_wrt_count(&u.p);
    free_rationals(value, u.p.n);
    free_rationals(adjoint, u.p.n);
    unrolled_end(&u);
    clarke_tensor_clear(&one);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("unrolled: %zu instructions, %zu touches, %zu entries in wrt, %zu slopes refused\n",
         instructions, touches, entries, refusals);
  ck_assert_uint_gt(touches, NETWORKS);
  ck_assert_uint_gt(in_floats, NETWORKS / 4);
  ck_assert_uint_gt(refusals, 20);
}
END_TEST

/* --- transcendental steps ----------------------------------------------------------------------- */

/* The network's outputs at one sample, by the execution. */
static double *
outputs_of(const unrolled *u)
{
  double *y = calloc(u->p.n_outputs, sizeof *y);
  clarke_execution e;

  clarke_execution_init(&e);
  OK(clarke_execute(&e, &u->p, u->point, &error));
  for (size_t o = 0; o < u->p.n_outputs; o++)
    y[o] = clarke_number_double(&e.value[u->p.output[o]]);
  clarke_execution_clear(&e);
  return y;
}

/* Softmax by its definition over entries of equal `group`. */
static double
softmax_at(const double *x, const size_t *group, size_t n, size_t at, bool logarithm)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    if (group[i] == group[at])
      sum += exp(x[i]);
  return logarithm ? x[at] - log(sum) : exp(x[at]) / sum;
}

static void
near(double found, double expected, const char *what, size_t entry)
{
  ck_assert_msg(fabs(found - expected) <= 1e-12 * (1 + fabs(expected)), "%s %zu: %.17g, not %.17g",
                what, entry, found, expected);
}

/* 12 entries as (2, 3, 2), in groups along each axis. */
START_TEST(softmax_axes)
{
  uint64_t state = 5;

  for (long axis = 1; axis <= 3; axis++)
    for (int logarithm = 0; logarithm < 2; logarithm++) {
      clarke_model m;
      clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 3, 2,));
      size_t group[12];
      unrolled u;
      double *y;

      model_begin(&m, 16);
      model_input(&m, "x", SHAPE(-1, 2, 3, 2,));
      attr_int(model_node(&m, logarithm ? "LogSoftmax" : "Softmax", "x", "y"), "axis", axis);
      model_output(&m, "y");
      for (size_t i = 0; i < 12; i++) {
        size_t at[3] = {i / 6, i / 2 % 3, i % 2};

        x.real[i] = small_number(&state) / 2;
        at[axis - 1] = 0;
        group[i] = at[0] * 6 + at[1] * 2 + at[2];
      }
      unrolled_begin(&u, &m, &x);
      OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
      check_layout(&u, "input");
      y = outputs_of(&u);
      for (size_t i = 0; i < 12; i++)
        near(y[i], softmax_at(x.real, group, 12, i, logarithm), "softmax", i);
      free(y);
      unrolled_end(&u);
      clarke_tensor_clear(&x);
      clarke_model_clear(&m);
    }
}
END_TEST

static void
draw_weights(clarke_model *m, const char *name, const long *shape, uint64_t *state)
{
  double *w = model_floats(m, name, shape);

  for (size_t i = 0; i < m->tensors[m->n_tensors - 1].count; i++)
    w[i] = small_number(state) / 2;
}

/* AD's gradients of networks with one transcendental layer, as the replay's enclosures have them. */
START_TEST(transcendental_gradients)
{
  static const char *const ops[] = {"Sigmoid", "Tanh", "Softmax", "LogSoftmax"};
  uint64_t state = 9;

  for (size_t i = 0; i < 40; i++) {
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
    clarke_number *gradient, sum;
    clarke_execution e;
    size_t n;
    machine k;
    unrolled u;
    mpq_t q;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 2,));
    draw_weights(&m, "W", SHAPE(2, 3,), &state);
    draw_weights(&m, "V", SHAPE(3, 3,), &state);
    draw_weights(&m, "c", SHAPE(3,), &state);
    model_node(&m, "MatMul", "x,W", "a");
    model_node(&m, ops[i % 4], "a", "b");
    model_node(&m, "MatMul", "b,V", "p");
    model_node(&m, "Mul", "p,c", "d");
    model_output(&m, "d");
    x.real[0] = small_number(&state);
    x.real[1] = small_number(&state);
    unrolled_begin(&u, &m, &x);
    OK(clarke_graph_wrt(&u.g, NULL, 0, &error));
    OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
    machine_run(&k, &u.g, &x, &u.profile);
    clarke_execution_init(&e);
    clarke_number_init(&sum);
    mpq_init(q);
    n = clarke_code_wrt_count(&u.p);
    ck_assert_uint_eq(n, 6 + 9 + 3);
    gradient = clarke_numbers(u.p.n_outputs * n);
    OK(clarke_execute(&e, &u.p, u.point, &error));
    OK(clarke_execution_ad(gradient, &e, &u.profile, &error));
    for (size_t p = 0, entry = 0; p < u.g.n_parameters; p++)
      for (size_t c = 0; c < u.g.parameters[p].count; c++, entry++) {
        clarke_number_set_si(&sum, 0);
        for (size_t o = 0; o < u.p.n_outputs; o++)
          clarke_number_add(&sum, &sum, &gradient[o * n + entry], 128);
        entry_of(q, &k.gradient[p], c);
        near(clarke_number_double(&sum), mpq_get_d(q), u.g.parameters[p].name, c);
      }
    mpq_clear(q);
    clarke_number_clear(&sum);
    clarke_numbers_free(gradient, u.p.n_outputs * n);
    clarke_execution_clear(&e);
    machine_end(&k, &u.g);
    unrolled_end(&u);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

/* --- inputs and refusals ------------------------------------------------------------------------ */

/* x W with W of that shape, all entries 1. */
static void
product_model(clarke_model *m, long rows, long columns)
{
  double *w;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, rows,));
  w = model_floats(m, "W", SHAPE(rows, columns,));
  for (long i = 0; i < rows * columns; i++)
    w[i] = 1;
  model_node(m, "MatMul", "x,W", "y");
  model_output(m, "y");
}

START_TEST(integers_and_dead_steps)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_I64, SHAPE(2, 3,));
  unrolled u;
  double *y;

  product_model(&m, 3, 1);
  model_node(&m, "Relu", "x", "unused");
  model_node(&m, "Relu", "unused", "unused_too");
  for (size_t i = 0; i < x.count; i++)
    x.integer[i] = (int64_t)i - 1;
  unrolled_begin(&u, &m, &x);
  OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
  ck_assert_uint_eq(u.p.n, 4); /* three inputs and their sum: no Relu */
  y = outputs_of(&u);
  near(y[0], -1 + 0 + 1, "sum", 0);
  free(y);
  unrolled_end(&u);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* A weight in wrt that the network sees transposed: x W' with W = (1 2 3; 4 5 6). */
START_TEST(transposed_weight)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 3,));
  mpq_t *value, *adjoint;
  unrolled u;
  double *w;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 3,));
  w = model_floats(&m, "W", SHAPE(2, 3,));
  for (size_t i = 0; i < 6; i++)
    w[i] = (double)i + 1;
  attr_ints(model_node(&m, "Transpose", "W", "T"), "perm", SHAPE(1, 0,));
  model_node(&m, "MatMul", "x,T", "y");
  model_output(&m, "y");
  x.real[0] = 1;
  x.real[1] = 10;
  x.real[2] = 100;
  unrolled_begin(&u, &m, &x);
  OK(clarke_graph_wrt(&u.g, NULL, 0, &error));
  OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
  value = rationals(u.p.n);
  adjoint = rationals(u.p.n);
  evaluate(value, adjoint, &u.p, u.point, &u.profile);
  ck_assert_uint_eq(u.p.n_outputs, 2);
  ck_assert_int_eq(mpq_cmp_ui(value[u.p.output[0]], 321, 1), 0);
  ck_assert_int_eq(mpq_cmp_ui(value[u.p.output[1]], 654, 1), 0);
  for (size_t i = 0; i < 6; i++) /* d(y_0 + y_1)/dW[o][i] = x[i] */
    ck_assert(mpq_equal(adjoint[u.p.input[1].first + i], u.point[i % 3]));
  check_replay(&u, &x, value, adjoint, 0, 0);
  check_execution(&u, value, adjoint, 0, 0);
  free_rationals(value, u.p.n);
  free_rationals(adjoint, u.p.n);
  unrolled_end(&u);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

START_TEST(names_and_samples)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  clarke_tensor tiny = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  unrolled u;

  product_model(&m, 2, 2);
  unrolled_begin(&u, &m, &x);
  OK(clarke_graph_wrt(&u.g, NULL, 0, &error));
  ck_assert_int_eq(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, "W", &error), CLARKE_EINPUT);
  says(error.text, "net.onnx|'W' is a parameter's name");
  clarke_code_clear(&u.p);
  ck_assert_int_eq(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &tiny, NULL, &error), CLARKE_EINPUT);
  says(error.text, "a sample has 2 entries; x has 1 in all");
  ck_assert_ptr_null(u.point);
  clarke_code_clear(&u.p);
  ck_assert_int_eq(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &tiny, NULL, NULL), CLARKE_EINPUT);
  unrolled_end(&u);
  clarke_tensor_clear(&tiny);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* 2100 x 1000 weights are over 2^21 products, or arguments. */
START_TEST(too_large)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2100,));

  product_model(&m, 2100, 1000);
  for (int wrt = 0; wrt < 2; wrt++) {
    unrolled u;

    unrolled_begin(&u, &m, &x);
    u.g.parameters[0].wrt = wrt;
    ck_assert_int_eq(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error), CLARKE_ENOMEM);
    says(error.text, wrt ? "net.onnx|2097152" : "node '/y'|net.onnx|2097152");
    unrolled_end(&u);
  }
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* --- convolutional networks --------------------------------------------------------------------- */

static void
relu_gives_zero(mpq_t slope, const char *op, size_t kink, const mpq_t left, const mpq_t right)
{
  (void)op;
  (void)kink;
  (void)left;
  (void)right;
  mpq_set_ui(slope, 0, 1);
}

static void
weights(clarke_model *m, uint64_t *state, const char *name, const long *shape)
{
  double *v = model_floats(m, name, shape);

  for (size_t i = 0; i < m->tensors[m->n_tensors - 1].count; i++)
    v[i] = (double)draw_between(state, -2, 2);
}

/* Every operator that a convolutional network adds, once or twice. */
static void
convolutional(clarke_model *m, uint64_t *state)
{
  clarke_model_node *node;

  model_begin(m, 17);
  model_input(m, "x", SHAPE(-1, 2, 4, 4,));
  weights(m, state, "W1", SHAPE(4, 2, 2, 2,));
  weights(m, state, "b1", SHAPE(4,));
  weights(m, state, "scale", SHAPE(4,));
  weights(m, state, "B", SHAPE(4,));
  weights(m, state, "mean", SHAPE(4,));
  weights(m, state, "var", SHAPE(4,));
  for (size_t i = 0; i < 4; i++)
    m->tensors[5].real[i] = i == 0 ? 0 : 3.75;
  weights(m, state, "W2", SHAPE(4, 1, 3, 3,));
  weights(m, state, "c", SHAPE(1, 1, 2, 2,));
  weights(m, state, "W3", SHAPE(2, 5,));
  model_integers(m, "pads", SHAPE(8,))[3] = 1;
  attr_string(model_node(m, "Conv", "x,W1,b1", "v1"), "auto_pad", "SAME_UPPER");
  attr_float(model_node(m, "BatchNormalization", "v1,scale,B,mean,var", "v2"), "epsilon", 0.25);
  model_node(m, "Relu", "v2", "v3");
  node = model_node(m, "MaxPool", "v3", "v4");
  attr_ints(node, "kernel_shape", SHAPE(2, 2,));
  attr_ints(node, "strides", SHAPE(2, 2,));
  attr_ints(node, "pads", SHAPE(0, 0, 0, 1,));
  node = model_node(m, "Conv", "v4,W2", "v5");
  attr_int(node, "group", 4);
  attr_ints(node, "pads", SHAPE(1, 1, 1, 1,));
  model_node(m, "Add", "v5,v4", "v6");
  attr_int(model_node(m, "Concat", "v6,c", "v7"), "axis", 1);
  model_node(m, "Pad", "v7,pads", "v8");
  node = model_node(m, "AveragePool", "v8", "v9");
  attr_ints(node, "kernel_shape", SHAPE(2, 2,));
  attr_ints(node, "pads", SHAPE(0, 1, 0, 0,));
  model_node(m, "Relu", "v9", "v10");
  attr_ints(model_node(m, "ReduceMean", "v10", "v11"), "axes", SHAPE(2, 3,));
  attr_int(&m->nodes[m->n_nodes - 1], "keepdims", 0);
  attr_int(model_node(m, "Gemm", "v11,W3", "y"), "transB", 1);
  model_output(m, "y");
}

/* Row o of the derivative times the direction that the naive values moved in. */
static void
directional(mpq_t sum, const unrolled *u, const clarke_number *gradient, size_t o, naive_run *run)
{
  size_t n = clarke_code_wrt_count(&u->p), entry = 0;
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(sum, 0, 1);
  for (size_t k = 1; k < u->p.n_inputs; k++)
    for (size_t i = 0; i < u->p.input[k].n; i++, entry++) {
      ck_assert(gradient[o * n + entry].exact);
      mpq_mul(term, gradient[o * n + entry].q, naive_find(run, u->p.input[k].name)->t[i]);
      mpq_add(sum, sum, term);
    }
  mpq_clear(term);
}

START_TEST(convolutional_networks)
{
  uint64_t state = 9;
  size_t touches = 0;

  for (size_t i = 0; i < 60; i++) {
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 4, 4,));
    static naive_run run = {.proxy = relu_gives_zero};
    clarke_number *gradient;
    clarke_execution e;
    unrolled u = {.n = 0};
    const naive *y;
    mpq_t moved;

    convolutional(&m, &state);
    for (size_t k = 0; k < x.count; k++)
      x.real[k] = (double)draw_between(&state, -2, 2);
    clarke_graph_init(&u.g);
    clarke_code_init(&u.p);
    OK(clarke_profile_load(&u.profile, "pytorch-2.13", &error));
    OK(clarke_graph_build(&u.g, &m, &x, &error));
    OK(clarke_graph_wrt(&u.g, NULL, 0, &error));
    OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
    ck_assert_uint_eq(u.p.n_inputs, 8); /* x and all but the statistics */
    naive_begin(&run, &m, &x);
    for (size_t k = 1; k < u.p.n_inputs; k++)
      for (size_t j = 0; j < u.p.input[k].n; j++)
        mpq_set_si(naive_find(&run, u.p.input[k].name)->t[j], draw_between(&state, -3, 3), 1);
    naive_go(&run);
    y = naive_find(&run, "y");
    clarke_execution_init(&e);
    OK(clarke_execute(&e, &u.p, u.point, &error));
    gradient = clarke_numbers(2 * clarke_code_wrt_count(&u.p));
    OK(clarke_execution_ad(gradient, &e, &u.profile, &error));
    mpq_init(moved);
    for (size_t o = 0; o < 2; o++) {
      ck_assert(mpq_equal(e.value[u.p.output[o]].q, y->v[o]));
      directional(moved, &u, gradient, o, &run);
      ck_assert_msg(mpq_equal(moved, y->t[o]), "network %zu: the derivative of output %zu", i, o);
    }
    check_floats(&u, &x, 1.1, i);
    for (size_t k = 0; k < u.g.n_parameters; k++) /* matrices that are numbers, behind biases that are not */
      u.g.parameters[k].wrt = u.g.parameters[k].wrt && u.g.parameters[k].rank == 1;
    check_floats(&u, &x, 1, i);
    touches += e.n_touched;
    mpq_clear(moved);
    clarke_numbers_free(gradient, 2 * clarke_code_wrt_count(&u.p));
    clarke_execution_clear(&e);
    naive_clear(&run);
    unrolled_end(&u);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  ck_assert_uint_gt(touches, 60);
}
END_TEST

/* What is no square has its root taken by the program. */
START_TEST(roots)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  unrolled u;
  double *y;

  model_begin(&m, 15);
  model_input(&m, "x", SHAPE(-1, 2,));
  for (size_t i = 0; i < 4; i++)
    for (size_t c = 0; c < 2; c++) {
      static const char *const names[] = {"scale", "B", "mean", "var"};
      double *v = c == 0 ? model_floats(&m, names[i], SHAPE(2,)) : m.tensors[i].real;

      v[c] = (double)(i + 2 * c);
    }
  model_node(&m, "BatchNormalization", "x,scale,B,mean,var", "y");
  model_output(&m, "y");
  x.real[0] = 7;
  x.real[1] = -2;
  unrolled_begin(&u, &m, &x);
  OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
  y = outputs_of(&u);
  ck_assert_double_eq_tol(y[0], 5 / sqrt(3 + (double)1e-5f) * 0 + 1, 1e-14);
  ck_assert_double_eq_tol(y[1], -6 / sqrt(5 + (double)1e-5f) * 2 + 3, 1e-14);
  free(y);
  unrolled_end(&u);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

/* Of one sample, groups of balanced numbers: their root is 5/4. Minibatches are no program. */
START_TEST(normalizations)
{
  static naive_run run = {.proxy = relu_gives_zero};
  static const double values[] = {3, 1, 1, 3, -1, 1, -1, 1};

  for (size_t kind = 0; kind < 3; kind++) {
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 4,));
    clarke_model_node *node;
    clarke_execution e;
    unrolled u;

    memcpy(x.real, values, sizeof values);
    model_begin(&m, 18);
    model_input(&m, "x", SHAPE(-1, 2, 4,));
    for (size_t i = 0; i < 4; i++) {
      static const char *const names[] = {"scale", "b", "mean", "var"};
      double *v = model_floats(&m, names[i], SHAPE(2,));

      v[0] = (double)i - 1;
      v[1] = 2;
    }
    if (kind == 0)
      node = model_node(&m, "InstanceNormalization", "x,scale,b", "n");
    else if (kind == 1)
      node = model_node(&m, "BatchNormalization", "x,scale,b,mean,var", "n");
    else {
      node = model_node(&m, "GroupNormalization", "x,scale,b", "n");
      attr_int(node, "num_groups", 2);
    }
    if (kind == 1)
      attr_int(node, "training_mode", 1);
    attr_float(node, "epsilon", 0.5625);
    model_node(&m, "GlobalMaxPool", "n", "p");
    model_node(&m, "Relu", "p", "y");
    model_output(&m, "y");
    unrolled_begin(&u, &m, &x);
    OK(clarke_unroll(&u.p, &u.point, &u.n, &u.g, &x, NULL, &error));
    naive_begin(&run, &m, &x);
    naive_go(&run);
    clarke_execution_init(&e);
    OK(clarke_execute(&e, &u.p, u.point, &error));
    ck_assert_uint_eq(u.p.n_outputs, 2);
    for (size_t o = 0; o < 2; o++) {
      ck_assert(e.value[u.p.output[o]].exact);
      ck_assert(mpq_equal(e.value[u.p.output[o]].q, naive_find(&run, "y")->v[o]));
    }
    clarke_execution_clear(&e);
    naive_clear(&run);
    unrolled_end(&u);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("unroll");

  tcase_add_test(tcase, random_networks);
  tcase_add_test(tcase, softmax_axes);
  tcase_add_test(tcase, transcendental_gradients);
  tcase_add_test(tcase, integers_and_dead_steps);
  tcase_add_test(tcase, transposed_weight);
  tcase_add_test(tcase, names_and_samples);
  tcase_add_test(tcase, too_large);
  tcase_add_test(tcase, convolutional_networks);
  tcase_add_test(tcase, roots);
  tcase_add_test(tcase, normalizations);
  return run_tests();
}
