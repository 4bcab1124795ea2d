/* Bounds of rounding, forward and back, beside what PyTorch computed in float32; and the steps that they are made of. */
#include "recorded.h"
#include "../draw.h"

#include "session/gradient.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "trace/bound/rounding_back_step.h"
#include "trace/bound/rounding_dense.h"
#include "trace/bound/rounding_line.h"
#include "trace/bound/rounding_loss.h"
#include "trace/bound/rounding_lost.h"

#include <math.h>

typedef struct {
  clarke_certified c;
  clarke_forward pass; /* the network's own */
  clarke_slopes slopes;
  clarke_roundoff r;
  clarke_matrix *grad, *gradient;
  double **bound;
} bounds;

static void
begin_bounds(bounds *b, const char *name)
{
  run_record(&b->c, name, false);
  clarke_forward_init(&b->pass);
  clarke_slopes_init(&b->slopes);
  clarke_roundoff_init(&b->r);
  OK(clarke_audit_pass(&b->pass, &b->c.audit, &error));
  OK(clarke_slopes_of_ad(&b->slopes, &b->pass, &b->c.audit.replay, &b->c.audit.profile, &error));
  b->r.f = &b->pass;
  b->r.slopes = &b->slopes;
  b->r.profile = &b->c.audit.profile;
  b->r.loss = &b->c.audit.question.loss;
  b->r.by = b->c.nodes.by;
  b->grad = clarke_matrices_new(b->c.audit.graph.n_values);
  b->gradient = clarke_matrices_new(b->c.audit.graph.n_parameters);
  b->bound = calloc(b->c.audit.graph.n_parameters + 1, sizeof *b->bound);
}

static void
end_bounds(bounds *b)
{
  for (size_t p = 0; p < b->c.audit.graph.n_parameters; p++)
    free(b->bound[p]);
  free(b->bound);
  clarke_matrices_free(b->grad, b->c.audit.graph.n_values);
  clarke_matrices_free(b->gradient, b->c.audit.graph.n_parameters);
  clarke_roundoff_clear(&b->r);
  clarke_slopes_clear(&b->slopes);
  clarke_forward_clear(&b->pass);
  clarke_certified_clear(&b->c);
}

/* What PyTorch computed in float32 is as near to the exact numbers as the bound says, which is not much more than a few roundings. */
START_TEST(bounds_of_outputs)
{
  bounds b;
  clarke_roundoff steps;
  const clarke_graph *g;
  size_t asked = 0;

  begin_bounds(&b, records[_i]);
  g = b.pass.g;
  steps = b.r;
  OK(clarke_roundoff_forward(&b.r, &error));
  OK(clarke_roundoff_begin(&steps, &error));
  for (size_t i = 0; i < g->n_steps; i++)
    if (b.pass.value[g->steps[i].out].rows > 0)
      OK(clarke_roundoff_step(&steps, i, &error));
  for (size_t v = 0; v < g->n_values; v++) {
    const size_t n = b.r.error[v] != NULL ? g->values[v].count * b.pass.n : 0;

    ck_assert_int_eq(b.r.error[v] != NULL, steps.error[v] != NULL);
    if (n > 0)
      ck_assert(memcmp(b.r.error[v], steps.error[v], n * sizeof **steps.error) == 0);
    for (size_t e = 0; e < n && b.c.nodes.recorded[v] != NULL && isfinite(b.r.error[v][e]); e++, asked++) {
      const double exact = clarke_matrix_get_double(&b.pass.value[v], e / b.pass.n, e % b.pass.n);

      ck_assert(fabs(b.c.nodes.recorded[v][e] - exact) <= b.r.error[v][e] + fabs(exact) * 0x1p-50);
      ck_assert(b.r.error[v][e] <= 1e-3);
      ck_assert(b.r.size[v][e] >= fabs(exact));
    }
  }
  ck_assert_uint_gt(asked, 0);
  clarke_roundoff_clear(&steps);
  end_bounds(&b);
}
END_TEST

/* A record beside the pass: what lies within the bounds is counted, the first that does not is named. */
START_TEST(offenders)
{
  bounds b;
  size_t all = 0, v;

  begin_bounds(&b, "small");
  b.r.recorded = b.c.nodes.recorded;
  v = value_named(b.pass.g, "3/convolution");
  OK(clarke_roundoff_forward(&b.r, &error));
  for (size_t k = 0; k < b.pass.g->n_values; k++)
    all += b.c.nodes.recorded[k] != NULL ? b.pass.g->values[k].count * b.pass.n : 0;
  ck_assert(b.r.offender == CLARKE_NONE && b.r.checked == all && b.r.open == 0);
  clarke_roundoff_clear(&b.r);
  b.r.checked = 0;
  b.c.nodes.recorded[v][11] += 1;
  OK(clarke_roundoff_forward(&b.r, &error));
  ck_assert(b.r.offender == v && b.r.offender_entry == 11 && b.r.checked < all);
  end_bounds(&b);
}
END_TEST

static void
run_back(bounds *b)
{
  const clarke_graph *g = b->pass.g;

  OK(clarke_loss_seed(&b->grad[g->output], b->r.loss, &b->pass, NULL, &error));
  OK(clarke_reverse_run(b->grad, &b->pass, &b->slopes, CLARKE_NONE, clarke_gradient_sink, b->gradient, &error));
}

/* The pass back by hand: the same sums as the whole has. */
static void
step_back(bounds *b, double scale)
{
  const clarke_graph *g = b->pass.g;
  clarke_roundback back;

  OK(clarke_roundback_begin(&back, &b->r, b->grad, scale, false, &error));
  clarke_roundback_seed(&back);
  for (size_t i = g->n_steps; i-- > 0;)
    if (b->grad[g->steps[i].out].rows > 0)
      OK(clarke_roundback_step(&back, i, NULL, &error));
  for (size_t q = 0; q < g->n_parameters; q++) {
    clarke_rounding_sum whole = {.error = NULL};
    double terms = 0;

    if (!g->parameters[q].wrt)
      continue;
    ck_assert(clarke_rounding_sum_init(&whole, g->parameters[q].count));
    for (size_t v = 0; v < g->n_values; v++)
      if (g->values[v].constant && g->values[v].parameter == q && back.sum[v].error != NULL) {
        clarke_roundback_fold(&whole, g->parameters[q].count, &back, v, g->values[v].origin);
        terms += back.sum[v].terms;
      }
    ck_assert(whole.terms == terms);
    for (size_t e = 0; e < g->parameters[q].count; e++)
      ck_assert(clarke_roundback_bound(&back, &whole, e, CLARKE_ROUNDBACK_SPARE_NORMALIZED) == b->bound[q][e]);
    clarke_rounding_sum_clear(&whole);
    ck_assert(whole.error == NULL && whole.mass == NULL && whole.terms == 0);
  }
  clarke_roundback_clear(&back);
  ck_assert(back.sum == NULL && back.reads == NULL);
}

/* The same of the gradient in the parameters; and its pass, step by step. */
START_TEST(bounds_of_gradients)
{
  bounds b;
  const clarke_graph *g;
  double scale;

  begin_bounds(&b, records[_i]);
  g = b.pass.g;
  scale = clarke_up_rational(b.c.record.step->scale);
  b.r.recorded = b.c.nodes.recorded;
  OK(clarke_roundoff_forward(&b.r, &error));
  ck_assert_uint_eq(b.r.offender, CLARKE_NONE);
  clarke_roundoff_reroute(&b.r);
  run_back(&b);
  OK(clarke_roundoff_backward(b.bound, &b.r, b.grad, scale, &error));
  for (size_t q = 0; q < g->n_parameters; q++) {
    const clarke_tensor *t = clarke_tensors_find(&b.c.record.gradients, g->parameters[q].name);

    for (size_t e = 0; g->parameters[q].wrt && e < g->parameters[q].count; e++) {
      const double exact = b.gradient[q].rows > 0 ? clarke_matrix_get_double(&b.gradient[q], e, 0) * mpq_get_d(b.c.record.step->scale) : 0;

      if (isfinite(b.bound[q][e])) /* else a branch may have been turned */
        ck_assert(fabs(t->real[e] - exact) <= b.bound[q][e] + fabs(exact) * 0x1p-48);
      if (_i == 0) /* "small" */
        ck_assert(b.bound[q][e] < 0.1 && b.bound[q][e] >= fabs(exact) * 0x1p-24);
    }
  }
  step_back(&b, scale);
  end_bounds(&b);
}
END_TEST

/* Of some numbers nothing is known: all of a value, or of an entry. */
static void
spoil(bounds *b, uint64_t *state)
{
  const clarke_graph *g = b->pass.g;

  for (size_t spots = 1 + draw_below(state, 3); spots > 0; spots--) {
    const size_t v = g->steps[draw_below(state, g->n_steps)].out, n = g->values[v].count * b->pass.n, e = draw_below(state, n);
    const bool all = draw_below(state, 2) == 0;

    for (size_t k = all ? 0 : e; b->r.error[v] != NULL && k < (all ? n : e + 1); k++)
      b->r.error[v][k] = INFINITY;
  }
}

/* Where entries have a bound beside the exact pass, they are those of the whole pass, and PyTorch's are so near. *finite counts them. */
static void
compare_along(size_t *finite, bounds *b, double scale)
{
  const clarke_graph *g = b->pass.g;
  clarke_matrix *grad = clarke_matrices_new(g->n_values), *gradient = clarke_matrices_new(g->n_parameters);
  double **bound = calloc(g->n_parameters + 1, sizeof *bound);

  OK(clarke_loss_seed(&grad[g->output], b->r.loss, &b->pass, NULL, &error));
  OK(clarke_roundoff_backward_along(bound, gradient, &b->r, grad, scale, &error));
  for (size_t q = 0; q < g->n_parameters; q++) {
    const clarke_tensor *t = clarke_tensors_find(&b->c.record.gradients, g->parameters[q].name);

    for (size_t e = 0; g->parameters[q].wrt && e < g->parameters[q].count; e++) {
      double exact;

      if (bound[q] == NULL || !isfinite(bound[q][e]))
        continue;
      ++*finite;
      exact = b->gradient[q].rows > 0 ? clarke_matrix_get_double(&b->gradient[q], e, 0) : 0;
      ck_assert(bound[q][e] <= b->bound[q][e]); /* which counts what was lost as terms of every entry's sum */
      ck_assert((gradient[q].rows > 0 ? clarke_matrix_get_double(&gradient[q], e, 0) : 0) == exact);
      ck_assert(fabs(t->real[e] - exact * mpq_get_d(b->c.record.step->scale)) <= bound[q][e] + fabs(exact) * 0x1p-48);
    }
    free(bound[q]);
  }
  free(bound);
  clarke_matrices_free(grad, g->n_values);
  clarke_matrices_free(gradient, g->n_parameters);
}

static const char *const lost[] = {"small", "pooled", "tied", "attention", "factors", "words", "fresh", "placed"};
#define LOST (sizeof lost / sizeof lost[0])

START_TEST(bounds_beside_the_gradient)
{
  uint64_t state = 0x1057 + (uint64_t)_i;
  size_t whole = 0, some = 0;
  double scale;
  bounds b;

  begin_bounds(&b, lost[_i]);
  scale = clarke_up_rational(b.c.record.step->scale);
  run_back(&b);
  for (size_t round = 0; round < 24; round++) {
    clarke_roundoff_clear(&b.r);
    OK(clarke_roundoff_forward(&b.r, &error));
    if (round > 0)
      spoil(&b, &state);
    for (size_t q = 0; q < b.pass.g->n_parameters; q++) {
      free(b.bound[q]);
      b.bound[q] = NULL;
    }
    OK(clarke_roundoff_backward(b.bound, &b.r, b.grad, scale, &error));
    compare_along(round == 0 ? &whole : &some, &b, scale);
  }
  ck_assert(some > 0 || whole == 0);
  end_bounds(&b);
}
END_TEST

/* How many steps are asked, which hand on all or nothing. */
typedef struct {
  size_t asked;
  bool on;
  clarke_matrix *gradient;
} asking;

static clarke_status
answer(bool *on, void *context, size_t step, clarke_error *err)
{
  asking *a = context;

  (void)step, (void)err;
  a->asked++;
  *on = *on && a->on;
  return CLARKE_OK;
}

static clarke_status
sink(void *context, const clarke_forward *f, const clarke_step *step, size_t operand, const clarke_matrix *g, clarke_error *err)
{
  return clarke_gradient_sink(((asking *)context)->gradient, f, step, operand, g, err);
}

/* Each step is asked whether it hands on what came to it. */
START_TEST(steps_that_are_asked)
{
  bounds b;
  const clarke_graph *g;

  begin_bounds(&b, "small");
  g = b.pass.g;
  run_back(&b);
  for (int on = 0; on < 2; on++) {
    clarke_matrix *grad = clarke_matrices_new(g->n_values);
    asking a = {.on = on == 1, .gradient = clarke_matrices_new(g->n_parameters)};

    OK(clarke_loss_seed(&grad[g->output], b.r.loss, &b.pass, NULL, &error));
    OK(clarke_reverse_asked(grad, &b.pass, &b.slopes, answer, sink, &a, &error));
    ck_assert_uint_eq(a.asked, g->n_steps);
    for (size_t q = 0; q < g->n_parameters; q++) {
      ck_assert_uint_eq(a.gradient[q].rows, on == 1 ? b.gradient[q].rows : 0);
      for (size_t e = 0; e < a.gradient[q].rows; e++)
        ck_assert(clarke_matrix_get_double(&a.gradient[q], e, 0) == clarke_matrix_get_double(&b.gradient[q], e, 0));
    }
    clarke_matrices_free(grad, g->n_values);
    clarke_matrices_free(a.gradient, g->n_parameters);
  }
  end_bounds(&b);
}
END_TEST

/* A word that is read has one part of all words: three parts are lost one by one. */
START_TEST(what_is_lost)
{
  double worst[2] = {INFINITY, INFINITY};
  clarke_roundback at_work = {.count = 1, .n = 2, .error = worst}, back;
  bounds b;
  size_t parts = 0, weights = 0;

  ck_assert(clarke_roundback_is_lost(&at_work));
  worst[1] = 1;
  ck_assert(!clarke_roundback_is_lost(&at_work));
  begin_bounds(&b, "words");
  OK(clarke_roundoff_forward(&b.r, &error));
  run_back(&b);
  OK(clarke_roundback_begin(&back, &b.r, b.grad, 1, false, &error));
  back.lost = calloc(b.pass.g->n_values, sizeof *back.lost);
  for (size_t i = b.pass.g->n_steps; i-- > 0;) {
    const clarke_step *s = &b.pass.g->steps[i];
    const clarke_value *x = &b.pass.g->values[s->in[0].value];
    const bool part = s->kind == CLARKE_GATHER && !x->constant && s->in[0].map != NULL && b.pass.g->values[s->out].count < x->count;

    ck_assert(!part || !back.lost[s->in[0].value]);
    parts += part;
    clarke_roundback_lose(&back, i);
    ck_assert(back.lost[s->out] && (part || x->constant || back.lost[s->in[0].value] == back.carries[s->in[0].value] || s->in[0].map != NULL));
  }
  ck_assert_uint_gt(parts, 1);
  for (size_t i = 0; i < b.pass.g->n_steps; i++)
    weights += b.pass.g->steps[i].kind == CLARKE_DENSE && back.lost[b.pass.g->steps[i].dense.weight];
  ck_assert_uint_gt(weights, 0); /* but for products of the first state, which is 0 */
  clarke_roundback_clear(&back);
  end_bounds(&b);
}
END_TEST

/* A step's rule by the sums it leaves: of a Relu each entry's error times the slope that it may have met. */
START_TEST(the_rule_of_a_relu)
{
  clarke_roundback back;
  bounds b;
  size_t step, x, n;

  begin_bounds(&b, "small");
  OK(clarke_roundoff_forward(&b.r, &error));
  run_back(&b);
  step = b.pass.g->values[value_named(b.pass.g, "4/relu")].producer;
  x = b.pass.g->steps[step].in[0].value;
  OK(clarke_roundback_begin(&back, &b.r, b.grad, 1, false, &error));
  back.s = &b.pass.g->steps[step];
  back.count = b.pass.g->values[back.s->out].count;
  n = back.count * back.n;
  back.size = clarke_roundoff_sizes(&b.grad[back.s->out]);
  back.error = calloc(n, sizeof *back.error);
  for (size_t e = 0; e < n; e++)
    back.error[e] = 0.25 * (double)(e % 3);
  OK(clarke_roundback_rule(&back, &error));
  for (size_t e = 0; e < n; e++) {
    const double argument = clarke_matrix_get_double(&b.pass.value[x], e / back.n, e % back.n);

    ck_assert(fabs(argument) > b.r.error[x][e]); /* no branch of these may have turned */
    ck_assert(back.sum[x].error[e] >= (argument > 0 ? back.error[e] : 0));
    ck_assert(back.sum[x].error[e] <= (argument > 0 ? back.error[e] * (1 + 1e-9) + back.size[e] * 1e-6 : 1e-300));
    ck_assert(argument < 0 || back.sum[x].mass[e] >= back.size[e]);
  }
  free(back.size);
  free(back.error);
  clarke_roundback_clear(&back);
  end_bounds(&b);
}
END_TEST

/* Sums are made once, and bounds grow with all three of a sum's parts. */
START_TEST(sums)
{
  clarke_roundoff r;
  const clarke_roundback b = {.r = &r};
  clarke_rounding_sum s = {.error = NULL};
  double *there, before;

  clarke_roundoff_init(&r);
  ck_assert(clarke_rounding_add_type(&r.by, "float32"));
  ck_assert(clarke_rounding_sum_init(&s, 3));
  there = s.error;
  s.error[2] = 0.5;
  s.mass[2] = 8;
  s.terms = 4;
  s.parts[0] = s.parts[2] = 2;
  ck_assert(clarke_rounding_sum_init(&s, 100) && s.error == there && s.error[2] == 0.5);
  before = clarke_roundback_bound(&b, &s, 2, 4);
  ck_assert(before >= 0.5 + 8 * 8 * 0x1p-24 && before <= 0.5 + 8.1 * 8 * 0x1p-24);
  ck_assert(clarke_roundback_bound(&b, &s, 2, 5) > before && clarke_roundback_bound(&b, &s, 0, 4) < 1e-30);
  s.mass[2] = INFINITY;
  ck_assert(isinf(clarke_roundback_bound(&b, &s, 2, 4)));
  s.mass[2] = NAN;
  ck_assert(isinf(clarke_roundback_bound(&b, &s, 2, 4)));
  clarke_rounding_sum_clear(&s);
}
END_TEST

/* Which slopes of a relu a computed argument may have met. */
/* A moved gradient is not rounded, where one type is computed in; what another joins is. */
START_TEST(moved_gradients)
{
  clarke_roundoff r = {.by = {.unit = 0x1p-24, .tiny = 0x1p-126, .largest = 0x1p127}};
  const clarke_roundback b = {.r = &r};
  clarke_rounding_sum s = {.terms = 1};

  ck_assert(clarke_rounding_sum_init(&s, 2));
  s.mass[0] = s.mass[1] = 1;
  s.parts[0] = 1;
  s.parts[1] = 2; /* of another entry two are added up */
  ck_assert(clarke_roundback_bound(&b, &s, 1, 4) > 0);
  ck_assert(clarke_roundback_bound(&b, &s, 0, 4) == 0);
  r.by.casts = true;
  ck_assert(clarke_roundback_bound(&b, &s, 0, 4) > 0);
  r.by.casts = false;
  s.parts[0] = 2;
  ck_assert(clarke_roundback_bound(&b, &s, 0, 4) > 0);
  clarke_rounding_sum_clear(&s);
}
END_TEST

/* 1 and -1 alone leave what they multiply as it is. */
START_TEST(signs)
{
  static const double column[] = {1, -1, 0, 2, 0x1.0000000000001p0};
  clarke_matrix m;

  clarke_matrix_init(&m);
  OK(clarke_matrix_set_doubles(&m, 5, 1, column, &error));
  for (size_t f = 0; f < 5; f++)
    ck_assert(clarke_roundoff_is_sign(&m, f) == (f < 2));
  clarke_matrix_clear(&m);
  ck_assert(clarke_roundoff_turns((const double[]){1, 1, 2}, 2) && !clarke_roundoff_turns((const double[]){1, 1, 2}, 3));
}
END_TEST

/* Roots of statistics below 0 alone, and of no other factor, cancel with epsilon. */
START_TEST(roots_that_cancel)
{
  double numbers[] = {-0x1p-20, 0, 0x1p-20};
  clarke_value values[] = {{.count = 3}, {.count = 3, .constant = true, .real = numbers}};
  clarke_operand in[] = {{.value = 0}, {.value = 1}};
  clarke_step step = {.kind = CLARKE_SCALE, .root = true, .n_in = 2, .in = in};
  const clarke_graph g = {.values = values, .n_values = 2};

  for (size_t f = 0; f < 3; f++)
    ck_assert(clarke_roundoff_cancels(&g, &step, f) == (f == 0));
  step.root = false;
  ck_assert(!clarke_roundoff_cancels(&g, &step, 0));
}
END_TEST

/* Of a line 1, 0, -1e30: the last is far, alone; it is not when the largest may be there, too. Its enclosed share becomes 0. */
START_TEST(masked_lines)
{
  static const double line[] = {1, 0, -1e30}, shares[] = {0.75, 0.25, 0x1p-130};
  double off[3] = {0x1p-20, 0, 0}, size[3] = {1, 0, 1e30}, *errors[] = {off}, *sizes[] = {size};
  clarke_operand in = {.value = 0};
  clarke_step step = {.kind = CLARKE_SOFTMAX, .in = &in, .n_in = 1, .length = 3, .stride = 1};
  const clarke_graph g = {.steps = &step, .n_steps = 1};
  clarke_matrix x, y;
  clarke_forward f = {.g = &g, .n = 1, .value = &x};
  const clarke_roundoff r = {.f = &f, .error = errors, .size = sizes, .by = {.unit = 0x1p-24, .tiny = 0x1p-126, .largest = 0x1p127}};
  clarke_rounding_line l;

  clarke_matrix_init(&x);
  clarke_matrix_init(&y);
  OK(clarke_matrix_set_doubles(&x, 3, 1, line, &error));
  OK(clarke_matrix_set_doubles(&y, 3, 1, shares, &error));
  y.radius = malloc(3 * sizeof *y.radius);
  for (size_t e = 0; e < 3; e++)
    y.radius[e] = 0x1p-128 * (e == 2 ? 1 : 0x1p20);
  clarke_roundoff_line(&l, &r, 0, 0, 1, 3);
  ck_assert(l.error == 0x1p-20 && l.size >= 1 && l.size < 1.001 && l.lost == 0x1p-126 && clarke_roundoff_far(&r) == 0x1p-125);
  ck_assert(!clarke_roundoff_is_far(&l, &r, 0, 0) && !clarke_roundoff_is_far(&l, &r, 0, 1) && clarke_roundoff_is_far(&l, &r, 0, 2));
  y.radius[2] = 0x1p-100;
  OK(clarke_roundoff_shrink(&y, &r, 0, &error));
  ck_assert(clarke_matrix_get_double(&y, 2, 0) == 0 && y.radius[2] == 0x1p-126 && clarke_matrix_get_double(&y, 0, 0) == 0.75);
  off[2] = 2e30;
  clarke_roundoff_line(&l, &r, 0, 0, 1, 3);
  ck_assert(!clarke_roundoff_is_far(&l, &r, 0, 2) && l.error == 2e30);
  off[2] = 0;
  off[0] = INFINITY;
  clarke_roundoff_line(&l, &r, 0, 0, 1, 3);
  ck_assert(!clarke_roundoff_is_far(&l, &r, 0, 2) && isinf(l.error));
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
}
END_TEST

/* At 256 and a little below the largest number an exponential in float32 is less than what underflow takes. */
START_TEST(just_far)
{
  double off[2] = {0}, size[2] = {0}, *errors[] = {off}, *sizes[] = {size};
  clarke_matrix x;
  clarke_forward f = {.n = 1, .value = &x};
  const clarke_roundoff r = {.f = &f, .error = errors, .size = sizes, .by = {.unit = 0x1p-24, .tiny = 0x1p-126, .largest = 0x1p127}};
  clarke_rounding_line l;

  clarke_matrix_init(&x);
  for (int apart = 255; apart <= 257; apart += 2) {
    OK(clarke_matrix_set_doubles(&x, 2, 1, (const double[]){0, -apart}, &error));
    clarke_roundoff_line(&l, &r, 0, 0, 1, 2);
    ck_assert(clarke_roundoff_is_far(&l, &r, 0, 1) == (apart == 257));
  }
  clarke_matrix_clear(&x);
}
END_TEST

START_TEST(reaches)
{
  clarke_reach reach;
  bounds b;
  size_t step, x;

  begin_bounds(&b, "small");
  OK(clarke_roundoff_forward(&b.r, &error));
  step = b.pass.g->values[value_named(b.pass.g, "4/relu")].producer;
  x = b.pass.g->steps[step].in[0].value;
  for (size_t e = 0; e < b.pass.g->values[x].count * b.pass.n; e++) {
    const double argument = clarke_matrix_get_double(&b.pass.value[x], e / b.pass.n, e % b.pass.n), own = b.r.error[x][e];

    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(!reach.open && reach.apart == 0 && fabs(reach.steepest - (argument > 0)) < 1e-12);
    b.r.error[x][e] = 2 * fabs(argument); /* now it may have been on either side */
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(reach.open && fabs(reach.steepest - 1) < 1e-12 && fabs(reach.apart - 1) < 1e-12);
    b.r.error[x][e] = INFINITY;
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(reach.open && isinf(reach.steepest) && isinf(reach.apart));
    b.r.error[x][e] = 2 * fabs(argument);
    b.r.recorded = b.c.nodes.recorded; /* or it was recorded where it is */
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(!reach.open && reach.apart == 0);
    b.r.recorded = NULL;
    b.r.error[x][e] = own;
  }
  end_bounds(&b);
}
END_TEST

/* Where a parabola joins a line there is no branch to turn: x^2 / 2 up to 1, and x - 1 / 2 behind it. With 2 x there is. */
START_TEST(reaches_of_joined_pieces)
{
  clarke_reach reach;
  bounds b;
  size_t step, x;
  clarke_pieces *p;

  begin_bounds(&b, "small");
  OK(clarke_roundoff_forward(&b.r, &error));
  step = b.pass.g->values[value_named(b.pass.g, "4/relu")].producer;
  x = b.pass.g->steps[step].in[0].value;
  p = &b.c.audit.graph.steps[step].pieces;
  mpq_set_ui(p->kink[0], 1, 1);
  mpq_set_ui(p->coef[0][2], 1, 2);
  mpq_set_ui(p->coef[1][1], 1, 1);
  mpq_set_si(p->coef[1][0], -1, 2);
  for (size_t e = 0; e < b.pass.g->values[x].count * b.pass.n; e++) {
    const double argument = clarke_matrix_get_double(&b.pass.value[x], e / b.pass.n, e % b.pass.n), off = fabs(argument - 1) + 0.5;
    const double own = argument > 0; /* AD's, as the pass found it */

    b.r.error[x][e] = off;
    mpq_set_ui(p->coef[1][1], 1, 1);
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(!reach.open);
    ck_assert_double_eq_tol(reach.apart, fmax(1 - own, fabs(argument - off - own)), 1e-9);
    mpq_set_ui(p->coef[1][1], 2, 1);
    OK(clarke_roundoff_reach(&reach, &b.r, step, e, &error));
    ck_assert(reach.open && reach.apart >= 2 - own);
  }
  mpq_set_ui(p->coef[1][1], 1, 1);
  mpq_set_ui(p->kink[0], 0, 1);
  mpq_set_ui(p->coef[0][2], 0, 1);
  mpq_set_ui(p->coef[1][0], 0, 1);
  end_bounds(&b);
}
END_TEST

/* The first largest of a window's recorded numbers; and a gradient that goes to it where the window's entries are one function. */
START_TEST(winners)
{
  bounds b;
  const clarke_step *s;
  size_t step, x, entries;

  begin_bounds(&b, "small");
  b.r.recorded = b.c.nodes.recorded;
  step = b.pass.g->values[value_named(b.pass.g, "2/max_pool2d_with_indices")].producer;
  s = &b.pass.g->steps[step];
  x = s->in[0].value;
  entries = b.pass.g->values[s->out].count * b.pass.n;
  for (size_t e = 0; e < entries; e++) {
    const size_t j = e % b.pass.n, *map = s->in[0].map + e / b.pass.n * s->width;
    double most = -INFINITY;
    size_t first = CLARKE_NONE;

    for (size_t i = 0; i < s->width; i++)
      most = map[i] != CLARKE_NONE ? fmax(most, b.r.recorded[x][map[i] * b.pass.n + j]) : most;
    for (size_t i = s->width; i-- > 0;)
      if (map[i] != CLARKE_NONE && b.r.recorded[x][map[i] * b.pass.n + j] == most)
        first = map[i];
    ck_assert_uint_eq(clarke_roundoff_winner(&b.r, s, e), first);
  }
  clarke_roundoff_reroute(&b.r); /* winners are AD's own: nothing moves */
  for (size_t e = 0; e < entries; e++) {
    const size_t j = e % b.pass.n, own = b.slopes.route[step].from[0][e];
    size_t winner;

    ck_assert(own == CLARKE_NONE || own == clarke_roundoff_winner(&b.r, s, e)
              || clarke_matrix_compare_entries(&b.pass.value[x], own, clarke_roundoff_winner(&b.r, s, e), j) != 0);
    if (b.pass.piece[step][e] < 0 || own == CLARKE_NONE)
      continue;
    /* The record names another entry of the window: taken where it is exactly as large, and else not. */
    winner = s->in[0].map[e / b.pass.n * s->width] == own ? s->in[0].map[e / b.pass.n * s->width + 1] : s->in[0].map[e / b.pass.n * s->width];
    b.c.nodes.recorded[x][winner * b.pass.n + j] = 1e9;
    clarke_roundoff_reroute(&b.r);
    ck_assert_uint_eq(b.slopes.route[step].from[0][e],
                      clarke_matrix_compare_entries(&b.pass.value[x], own, winner, j) == 0 ? winner : own);
  }
  end_bounds(&b);
}
END_TEST

MODULE(bounds)
{
  TCase *tests = tests_of("bounds");

  tcase_add_loop_test(tests, bounds_of_outputs, 0, RECORDS);
  tcase_add_test(tests, offenders);
  tcase_add_loop_test(tests, bounds_of_gradients, 0, RECORDS);
  tcase_add_loop_test(tests, bounds_beside_the_gradient, 0, LOST);
  tcase_add_test(tests, steps_that_are_asked);
  tcase_add_test(tests, what_is_lost);
  tcase_add_test(tests, the_rule_of_a_relu);
  tcase_add_test(tests, sums);
  tcase_add_test(tests, moved_gradients);
  tcase_add_test(tests, signs);
  tcase_add_test(tests, roots_that_cancel);
  tcase_add_test(tests, masked_lines);
  tcase_add_test(tests, just_far);
  tcase_add_test(tests, reaches);
  tcase_add_test(tests, reaches_of_joined_pieces);
  tcase_add_test(tests, winners);
  return all_tests;
}
