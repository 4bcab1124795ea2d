/* What a walk is made of: series along arcs and polynomials beside executions at other points, and choices at forks. */
#include "../suites.h"
#include "executed.h"

#include "program/walk_inside.h"

#include <flint/fmpq.h>
#include <string.h>

/* --- helpers --- */

typedef struct {
  executed x;
  clarke_walk w;
  mpq_t *arc[2];
} scene;

/* An arc of two steps, or none (d NULL). */
static void
open_scene(scene *s, const char *text, long a, long b, const long (*d)[2])
{
  begin(&s->x, text, a, b);
  for (size_t r = 0; r < 2; r++) {
    s->arc[r] = clarke_rationals(2);
    for (size_t k = 0; d != NULL && k < 2; k++)
      mpq_set_si(s->arc[r][k], d[r][k], 1);
  }
  OK(clarke_walk_init(&s->w, &s->x.e, s->arc, d != NULL ? 2 : 0, &error));
}

static void
close_scene(scene *s)
{
  clarke_walk_clear(&s->w);
  for (size_t r = 0; r < 2; r++)
    clarke_rationals_free(s->arc[r], 2);
  end(&s->x);
}

static clarke_walk_state
on(scene *s)
{
  clarke_walk_state state;

  OK(clarke_walk_on(&s->w, &state, &error));
  return state;
}

/* What is known of an instruction is forgotten, so that it can be done again. */
static void
undo(clarke_walk *w, size_t at)
{
  clarke_numbers_free(w->gradient[at], w->width);
  w->gradient[at] = NULL;
  w->degree[at] = 2;
  w->part[at] = 77;
  clarke_walk_polynomial_drop(w, at);
  clarke_number_set_si(&w->value[at], 99);
  if (w->series != NULL)
    clarke_walk_series_free(&w->series[at]);
  w->n_local = w->asked = 0;
}

static void
gradient_is(const clarke_walk *w, size_t at, long a, long b)
{
  ck_assert(w->gradient[at] != NULL);
  ck_assert(is(&w->gradient[at][0], a) && is(&w->gradient[at][1], b));
}

/* An instruction's series, its value before it, summed at t = 1/n: that of a polynomial of degree 8 at most is what it is there. */
static void
series_is_the_function(scene *s, size_t at, unsigned long n)
{
  mpq_t t, power, sum, term, there, point[3];

  mpq_inits(t, power, sum, term, there, point[0], point[1], point[2], NULL);
  mpq_set_ui(t, 1, n);
  for (size_t k = 0; k < 2; k++) {
    mpq_mul(point[k], s->arc[1][k], t);
    mpq_add(point[k], point[k], s->arc[0][k]);
    mpq_mul(point[k], point[k], t);
    mpq_add(point[k], point[k], s->x.at[k]);
  }
  value_at(there, &s->x, at, point);
  mpq_set(sum, s->w.value[at].q);
  mpq_set(power, t);
  for (size_t k = 0; s->w.series[at] != NULL && k + 1 < CLARKE_SERIES; k++) {
    mpq_mul(term, power, s->w.series[at][k]);
    mpq_add(sum, sum, term);
    mpq_mul(power, power, t);
  }
  ck_assert_msg(mpq_equal(sum, there), "instruction %zu", at);
  mpq_clears(t, power, sum, term, there, point[0], point[1], point[2], NULL);
}

/* A polynomial at a displacement. */
static void
evaluate(mpq_t y, const clarke_polynomial *q, const clarke_walk *w, mpq_t *h)
{
  fmpq_t value, x[2];
  fmpq *const list[2] = {x[0], x[1]};

  ck_assert(q->kept);
  fmpq_init(value);
  for (size_t k = 0; k < 2; k++) {
    fmpq_init(x[k]);
    fmpq_set_mpq(x[k], h[k]);
  }
  fmpq_mpoly_evaluate_all_fmpq(value, q->p, list, w->ring);
  fmpq_get_mpq(y, value);
  for (size_t k = 0; k < 2; k++)
    fmpq_clear(x[k]);
  fmpq_clear(value);
}

/* The difference of two instructions (b: or CLARKE_NONE) at the point and a displacement. */
static void
difference_at(mpq_t y, const scene *s, size_t a, size_t b, mpq_t *h)
{
  mpq_t point[3], t;

  mpq_inits(point[0], point[1], point[2], t, NULL);
  for (size_t k = 0; k < 2; k++)
    mpq_add(point[k], s->x.at[k], h[k]);
  value_at(y, &s->x, a, point);
  if (b != CLARKE_NONE)
    value_at(t, &s->x, b, point);
  mpq_sub(y, y, t);
  mpq_clears(point[0], point[1], point[2], t, NULL);
}

/* --- series --- */

static const char curved[] = "input x, y\nlet a = x*x - 3*y + 1\nlet b = a*y\noutput relu(-b)*2 + hardswish(x), max(b, -b, x)*x, (a + x)/4";

START_TEST(series_are_the_functions_along_the_arc)
{
  static const long d[2][2] = {{1, -2}, {3, 1}};
  scene s;

  open_scene(&s, curved, 1, -2, d); /* a is 8, b is -16: b's sign and order are plain */
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  for (size_t i = 0; i < s.x.p.n; i++) {
    const clarke_do kind = s.x.p.instruction[i].kind;

    if (!s.x.e.live[i])
      continue;
    clarke_walk_series_free(&s.w.series[i]);
    ck_assert_ptr_null(s.w.series[i]);
    if (kind == CLARKE_DO_INPUT)
      OK(clarke_walk_series_input(&s.w, i, &error));
    else if (kind == CLARKE_DO_PIECEWISE)
      OK(clarke_walk_series_piece(&s.w, i, s.w.part[i], &error));
    else if (kind == CLARKE_DO_ORDER)
      OK(clarke_walk_series_copy(&s.w, i, s.w.part[i], &error));
    else
      OK(clarke_walk_series_smooth(&s.w, i, &error));
    series_is_the_function(&s, i, 100);
    series_is_the_function(&s, i, 173);
    ck_assert(!s.w.lost[i]);
  }
  ck_assert(!s.w.arc_failed);
  close_scene(&s);
}
END_TEST

/* 1 / (1 - t) is 1 + t + t^2 ...; (2 - t) / (2 - 2 t) is 1 + t/2 + t^2/2 + ... */
START_TEST(quotients_are_geometric_series)
{
  static const long d[2][2] = {{-1, 0}, {0, 0}};
  scene s;
  size_t at[2], n = 0;

  open_scene(&s, "input x, y\noutput 1/x, (x + y)/(2*x)", 1, 1, d);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  for (size_t i = 0; i < s.x.p.n; i++)
    if (s.x.p.instruction[i].kind == CLARKE_DO_QUOTIENT)
      at[n++] = i;
  ck_assert_uint_eq(n, 2);
  for (size_t i = 0; i < 2; i++) {
    clarke_walk_series_free(&s.w.series[at[i]]);
    OK(clarke_walk_series_smooth(&s.w, at[i], &error));
    for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
      ck_assert(mpq_cmp_ui(s.w.series[at[i]][k], 1, i + 1) == 0);
  }
  close_scene(&s);
}
END_TEST

START_TEST(a_series_that_is_not_rational_is_lost)
{
  static const long d[2][2] = {{1, 0}, {0, 0}};
  mpq_t *zeros = clarke_walk_series_new();
  scene s;
  size_t elu, e;

  for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
    ck_assert(mpq_sgn(zeros[k]) == 0);
  clarke_walk_series_free(&zeros);
  ck_assert_ptr_null(zeros);
  open_scene(&s, "input x, y\noutput exp(x) + y, elu(x)", -1, 1, d);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  e = last_of(&s.x, CLARKE_DO_ANALYTIC);
  elu = last_of(&s.x, CLARKE_DO_ELU);
  ck_assert(s.w.arc_failed && s.w.lost[e] && s.w.lost[elu]);
  s.w.arc_failed = s.w.lost[e] = s.w.lost[elu] = false;
  OK(clarke_walk_series_smooth(&s.w, e, &error));
  ck_assert(s.w.arc_failed && s.w.lost[e] && s.w.series[e] == NULL);
  OK(clarke_walk_series_piece(&s.w, elu, 0, &error));
  ck_assert(s.w.lost[elu] && s.w.series[elu] == NULL);
  s.w.lost[elu] = false;
  OK(clarke_walk_series_piece(&s.w, elu, 1, &error)); /* right of its kink it is its argument */
  ck_assert(!s.w.lost[elu] && mpq_cmp_ui(s.w.series[elu][0], 1, 1) == 0);
  OK(clarke_walk_series_copy(&s.w, 1, e, &error)); /* what is a copy of one is lost, too */
  ck_assert(s.w.lost[1]);
  s.w.lost[0] = s.w.arc_failed = false;
  clarke_walk_lose(&s.w, 0);
  ck_assert(s.w.lost[0] && s.w.arc_failed);
  close_scene(&s);
}
END_TEST

/* --- polynomials --- */

START_TEST(polynomials_are_the_functions_around_the_point)
{
  scene s;
  clarke_polynomial q;
  mpq_t h[2], y, z, factor;

  mpq_inits(h[0], h[1], y, z, factor, NULL);
  open_scene(&s, curved, 1, -2, NULL);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  mpq_set_si(h[0], 1, 7);
  mpq_set_si(h[1], -2, 11);
  for (size_t i = 0; i < s.x.p.n; i++) {
    if (!s.x.e.live[i])
      continue;
    clarke_polynomial_init(&q, s.w.ring);
    clarke_walk_polynomial(&q, &s.w, i);
    evaluate(y, &q, &s.w, h);
    difference_at(z, &s, i, CLARKE_NONE, h);
    ck_assert(mpq_equal(y, z));
    mpq_set_si(factor, -3, 2);
    clarke_walk_polynomial_addmul(&q, factor, &s.w, i); /* it less one and a half of it */
    evaluate(y, &q, &s.w, h);
    mpq_set_si(factor, -1, 2);
    mpq_mul(z, z, factor);
    ck_assert(mpq_equal(y, z));
    clarke_polynomial_clear(&q, s.w.ring);
  }
  close_scene(&s);
  mpq_clears(h[0], h[1], y, z, factor, NULL);
}
END_TEST

/* What looks curved, and is not: its degree falls. What is curved keeps a polynomial, until it is dropped. */
START_TEST(polynomials_tell_what_is_affine)
{
  scene s;
  size_t sum, square;

  open_scene(&s, "input x, y\noutput (x + y)*(x + y) - x*x - 2*(x*y) - y*y + 3*x, x*x", 2, 5, NULL);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  sum = s.x.p.output[0];
  square = s.x.p.output[1];
  ck_assert_uint_eq(s.w.degree[sum], 1);
  gradient_is(&s.w, sum, 3, 0);
  s.w.degree[sum] = 2;
  OK(clarke_walk_refine(&s.w, sum, &error));
  ck_assert(s.w.degree[sum] == 1 && s.w.polynomial[sum] == NULL);
  ck_assert(s.w.degree[square] == 2 && s.w.polynomial[square] != NULL);
  clarke_walk_polynomial_drop(&s.w, square);
  ck_assert_ptr_null(s.w.polynomial[square]);
  OK(clarke_walk_refine(&s.w, square, &error));
  ck_assert(s.w.degree[square] == 2 && s.w.polynomial[square] != NULL);
  close_scene(&s);
}
END_TEST

/* --- gradients, degrees --- */

START_TEST(gradients_add_up_and_settle)
{
  clarke_number d;
  scene s;

  clarke_number_init(&d);
  ck_assert(clarke_walk_is_zero(&d));
  open_scene(&s, "input x, y\noutput 2*x + y", 2, 5, NULL);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  OK(clarke_walk_gradient_addmul(&s.w, 0, &d, 1, &error)); /* nothing times y's */
  gradient_is(&s.w, 0, 1, 0);
  clarke_number_set_si(&d, -3);
  ck_assert(!clarke_walk_is_zero(&d));
  OK(clarke_walk_gradient_addmul(&s.w, 0, &d, s.x.p.output[0], &error));
  gradient_is(&s.w, 0, -5, -3);
  clarke_number_set_si(&d, -1);
  OK(clarke_walk_gradient_addmul(&s.w, 0, &d, 0, &error));
  gradient_is(&s.w, 0, 0, 0);
  clarke_walk_settle(&s.w, 0, 2); /* a gradient of zeros says nothing of what is curved */
  ck_assert(s.w.degree[0] == 2 && s.w.gradient[0] != NULL);
  clarke_walk_settle(&s.w, 0, 1);
  ck_assert(s.w.degree[0] == 0 && s.w.gradient[0] == NULL);
  clarke_walk_settle(&s.w, 1, 1);
  ck_assert(s.w.degree[1] == 1 && s.w.gradient[1] != NULL);
  ck_assert(clarke_number_analytic(&d, NULL, CLARKE_FN_SIN, &s.w.value[0], 64));
  clarke_number_sub(&d, &d, &d, 64); /* a ball around zero is not certainly zero */
  ck_assert(!clarke_walk_is_zero(&d));
  close_scene(&s);
  clarke_number_clear(&d);
}
END_TEST

START_TEST(being_stuck_names_the_place)
{
  clarke_walk_state state = CLARKE_WALK_END;
  scene s;

  open_scene(&s, "input x, y\noutput x*y", 2, 5, NULL);
  OK(clarke_walk_stuck(&s.w, &state, s.x.p.output[0], "of this"));
  ck_assert_int_eq(state, CLARKE_WALK_STUCK);
  ck_assert_str_eq(s.w.why, "line 2, column 9: of this");
  close_scene(&s);
}
END_TEST

/* --- forks --- */

START_TEST(factors_that_are_not_zero_are_left_out)
{
  static const struct {
    const char *text;
    int factor;
    bool zero;
  } known[] = {{"input x, y\noutput -2*(x*y)", -1, false}, {"input x, y\noutput x/(-y)", -1, false}, {"input x, y\noutput (x/y)*3", 1, false},
               {"input x, y\noutput x*y - y*x", 1, true}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    scene s;
    size_t out;
    int sign = 5;

    open_scene(&s, known[i].text, 0, 3, NULL);
    out = s.x.p.output[0];
    ck_assert_int_eq(on(&s), CLARKE_WALK_END);
    s.w.n_local = s.w.asked = 0;
    ck_assert(clarke_walk_sign_near(&s.w, out, out, CLARKE_NONE, &sign) == known[i].zero);
    if (known[i].zero)
      ck_assert_int_eq(sign, 0);
    else {
      ck_assert(s.w.fork.instruction == out && s.w.fork.n_choices == 2 && !s.w.fork.order);
      ck_assert(s.w.fork.y[0] == 0 && s.w.fork.y[1] == CLARKE_NONE && s.w.fork.factor == known[i].factor);
      for (size_t choice = 0; choice < 2; choice++) {
        s.w.n_local = s.w.asked = 0;
        clarke_walk_choose(&s.w, choice);
        ck_assert(clarke_walk_sign_near(&s.w, out, out, CLARKE_NONE, &sign));
        ck_assert_int_eq(sign, choice == 1 ? 1 : -1);
      }
      s.w.open = true;
      ck_assert(clarke_walk_sign_near(&s.w, out, out, CLARKE_NONE, &sign) && sign == CLARKE_ANY_SIDE);
    }
    close_scene(&s);
  }
}
END_TEST

/* Entries x, x, y, x + y - y, tied: the copies of x go together. */
START_TEST(entries_are_taken_with_their_copies)
{
  size_t copy_of[4], taken, n;
  scene s;

  open_scene(&s, "input x, y\noutput x + y - y, 2*x - y", 2, 2, NULL);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  for (size_t rank = 1; rank <= 4; rank++)
    for (size_t choice = 0; choice < 2; choice++) {
      size_t left[4] = {0, 0, 1, s.x.p.output[0]};

      s.w.n_local = s.w.asked = 0;
      n = 4;
      ck_assert(!clarke_walk_take(&s.w, s.x.p.output[0], left, &n, rank, copy_of, &taken));
      ck_assert(s.w.fork.order && s.w.fork.n_choices == 2 && s.w.fork.y[0] == 0 && s.w.fork.y[1] == 1);
      clarke_walk_choose(&s.w, choice);
      s.w.asked = 0;
      n = 4;
      ck_assert(clarke_walk_take(&s.w, s.x.p.output[0], left, &n, rank, copy_of, &taken));
      ck_assert_uint_eq(taken, choice == 0 ? rank == 4 : rank == 1); /* x three times and then y, or y and then x */
    }
  { /* after both copies of x, the next of the two that are left */
    size_t left[4] = {0, 0, 1, s.x.p.output[1]};

    s.w.n_local = s.w.asked = 0;
    clarke_walk_choose(&s.w, 0);
    clarke_walk_choose(&s.w, 1);
    n = 4;
    ck_assert(clarke_walk_take(&s.w, 0, left, &n, 3, copy_of, &taken));
    ck_assert(taken == s.x.p.output[1] && n == 2 && s.w.asked == 2);
  }
  s.w.n_local = s.w.asked = 0;
  s.w.open = true;
  {
    size_t left[4] = {0, 0, 1, s.x.p.output[0]}, same[2] = {0, 0};

    n = 4;
    ck_assert(clarke_walk_take(&s.w, 0, left, &n, 2, copy_of, &taken) && taken == CLARKE_NONE && n == 4);
    n = 2;
    ck_assert(clarke_walk_take(&s.w, 0, same, &n, 2, copy_of, &taken) && taken == 0);
  }
  close_scene(&s);
}
END_TEST

START_TEST(what_differs_is_told_by_gradients_or_polynomials)
{
  static const struct {
    const char *text;
    bool differs;
  } known[] = {{"input x, y\noutput x, y", true},         {"input x, y\noutput x*x, y*y", true}, {"input x, y\noutput x*y, y*x", false},
               {"input x, y\noutput exp(x), exp(y)", true}, {"input x, y\noutput cos(x), cos(y)", false}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    scene s;

    open_scene(&s, known[i].text, 0, 0, NULL);
    ck_assert_int_eq(on(&s), CLARKE_WALK_END);
    ck_assert_msg(clarke_walk_differs(&s.w, s.x.p.output[0], s.x.p.output[1]) == known[i].differs, "%s", known[i].text);
    close_scene(&s);
  }
}
END_TEST

/* A decision is what a choice needs to be positive: compared at a displacement with executions there. */
START_TEST(decisions_are_what_must_be_positive)
{
  static const char *const texts[] = {"input x, y\noutput max(x*x*y, 2*x - 1, y)", "input x, y\noutput kth(3, x*x*y, 2*x - 1, y)",
                                      "input x, y\noutput relu(x*x - y)", "input x, y\noutput relu(-3*(x*x - y))"};
  mpq_t h[2], y, z;

  mpq_inits(h[0], h[1], y, z, NULL);
  mpq_set_si(h[0], 2, 7);
  mpq_set_si(h[1], 1, 5);
  for (size_t i = 0; i < 4; i++) {
    scene s;

    open_scene(&s, texts[i], 1, 1, NULL); /* all three are 1, or the argument is 0 */
    while (on(&s) == CLARKE_WALK_FORK) {
      const clarke_fork_point *f = &s.w.fork;

      for (size_t c = 0; c < f->n_choices; c++)
        for (size_t k = 0; k < clarke_walk_decisions(&s.w); k++) {
          const bool flip = f->order ? f->up : (c == 1) != (f->factor == 1);
          clarke_polynomial q;

          clarke_polynomial_init(&q, s.w.ring);
          clarke_walk_decision_polynomial(&q, &s.w, c, k);
          evaluate(y, &q, &s.w, h);
          difference_at(z, &s, f->order ? f->y[c] : f->y[0], f->order ? f->y[k < c ? k : k + 1] : f->y[1], h);
          if (flip)
            mpq_neg(z, z);
          ck_assert(mpq_equal(y, z));
          clarke_polynomial_clear(&q, s.w.ring);
        }
      clarke_walk_choose(&s.w, 0);
    }
    close_scene(&s);
  }
  mpq_clears(h[0], h[1], y, z, NULL);
}
END_TEST

/* --- instructions at kinks, done again --- */

START_TEST(a_piece_is_chosen_at_a_kink)
{
  clarke_walk_state state = CLARKE_WALK_END;
  scene s;
  size_t at;

  open_scene(&s, "input x, y\noutput leaky_relu(x - y, 1/4)", 3, 3, NULL);
  at = last_of(&s.x, CLARKE_DO_PIECEWISE);
  ck_assert_int_eq(on(&s), CLARKE_WALK_FORK);
  for (size_t choice = 0; choice < 2; choice++) {
    undo(&s.w, at);
    clarke_walk_choose(&s.w, choice);
    state = CLARKE_WALK_END;
    OK(clarke_walk_pointwise(&s.w, &state, at, &error));
    ck_assert(state == CLARKE_WALK_END && s.w.part[at] == choice && is(&s.w.value[at], 0) && s.w.degree[at] == 1);
    ck_assert(mpq_cmp_ui(s.w.gradient[at][0].q, 1, choice == 1 ? 1 : 4) == 0);
    ck_assert(mpq_cmp_si(s.w.gradient[at][1].q, -1, choice == 1 ? 1 : 4) == 0);
  }
  undo(&s.w, at);
  OK(clarke_walk_pointwise(&s.w, &state, at, &error)); /* none is chosen */
  ck_assert(state == CLARKE_WALK_FORK && s.w.fork.instruction == at);
  undo(&s.w, at);
  s.w.open = true;
  state = CLARKE_WALK_END;
  OK(clarke_walk_pointwise(&s.w, &state, at, &error)); /* any slope between the two */
  ck_assert(state == CLARKE_WALK_END && s.w.n_open == 1 && s.w.degree[at] == 2);
  {
    const arb_struct *g = s.w.gradient[at][0].b;
    arf_t quarter;

    arf_init(quarter);
    arf_set_d(quarter, 0.25);
    ck_assert(!s.w.gradient[at][0].exact && arb_contains_si(g, 1) && arb_contains_arf(g, quarter) && !arb_contains_si(g, 2));
    ck_assert(!arb_contains_si(g, 0));
    arf_clear(quarter);
  }
  close_scene(&s);
}
END_TEST

START_TEST(an_entry_is_chosen_in_a_tie)
{
  clarke_walk_state state = CLARKE_WALK_END;
  scene s;
  size_t at;

  open_scene(&s, "input x, y\noutput max(x, y, 1)", 3, 3, NULL);
  at = last_of(&s.x, CLARKE_DO_ORDER);
  ck_assert_int_eq(on(&s), CLARKE_WALK_FORK);
  for (size_t choice = 0; choice < 2; choice++) {
    undo(&s.w, at);
    clarke_walk_choose(&s.w, choice);
    state = CLARKE_WALK_END;
    OK(clarke_walk_order(&s.w, &state, at, &error));
    ck_assert(state == CLARKE_WALK_END && s.w.part[at] == choice && is(&s.w.value[at], 3) && s.w.degree[at] == 1);
    gradient_is(&s.w, at, choice == 0, choice == 1);
  }
  undo(&s.w, at);
  OK(clarke_walk_order(&s.w, &state, at, &error));
  ck_assert(state == CLARKE_WALK_FORK && s.w.fork.n_choices == 2 && !s.w.fork.up);
  undo(&s.w, at);
  s.w.open = true;
  state = CLARKE_WALK_END;
  OK(clarke_walk_order(&s.w, &state, at, &error));
  ck_assert(state == CLARKE_WALK_END && s.w.n_open == 1 && s.w.degree[at] == 2 && s.w.part[at] == CLARKE_NONE);
  for (size_t k = 0; k < 2; k++)
    ck_assert(arb_contains_si(s.w.gradient[at][k].b, 0) && arb_contains_si(s.w.gradient[at][k].b, 1) &&
              !arb_contains_si(s.w.gradient[at][k].b, 2));
  close_scene(&s);
}
END_TEST

START_TEST(an_arm_is_chosen_where_comparands_are_equal)
{
  static const struct {
    const char *relation;
    bool then[2]; /* left of right, right of left */
  } known[] = {{"<", {true, false}}, {"<=", {true, false}}, {">", {false, true}}, {">=", {false, true}}, {"==", {false, false}}, {"!=", {true, true}}};

  for (size_t i = 0; i < 6; i++) {
    char text[80];
    scene s;
    size_t at;

    snprintf(text, sizeof text, "input x, y\noutput if x %s y then 2*x else 3*y", known[i].relation);
    open_scene(&s, text, 0, 0, NULL);
    at = last_of(&s.x, CLARKE_DO_BRANCH);
    for (size_t choice = 0; choice < 2; choice++) {
      clarke_walk_state state = CLARKE_WALK_END;

      clarke_walk_restart(&s.w, NULL);
      ck_assert_int_eq(on(&s), CLARKE_WALK_FORK);
      undo(&s.w, at);
      s.w.demand.arm[at] = 0;
      clarke_walk_choose(&s.w, choice);
      OK(clarke_walk_branch(&s.w, &state, at, &error));
      ck_assert_int_eq(state, CLARKE_WALK_END);
      ck_assert(s.w.part[at] == known[i].then[choice] && s.w.demand.arm[at] == (known[i].then[choice] ? 1 : -1));
      s.w.n_local = 0;
      ck_assert_int_eq(on(&s), CLARKE_WALK_END); /* the arm, and then the branch for the second time */
      undo(&s.w, at);
      OK(clarke_walk_branch(&s.w, &state, at, &error));
      gradient_is(&s.w, at, known[i].then[choice] ? 2 : 0, known[i].then[choice] ? 0 : 3);
    }
    s.w.demand.arm[at] = 0;
    undo(&s.w, at);
    s.w.open = true;
    {
      clarke_walk_state state = CLARKE_WALK_END;

      OK(clarke_walk_branch(&s.w, &state, at, &error));
      ck_assert_int_eq(state, CLARKE_WALK_STUCK);
    }
    close_scene(&s);
  }
}
END_TEST

/* |(3 x, 4 x)| is 5 |x|: along no arc all of -5 to 5 is enclosed. Along (3, 4), |(x, y)| is 5 t. */
START_TEST(norms_of_zeros_are_enclosed_or_follow_the_arc)
{
  static const long d[2][2] = {{3, 4}, {0, 0}}, diagonal[2][2] = {{1, 1}, {0, 0}}, second[2][2] = {{0, 0}, {-4, 3}}, bent[2][2] = {{3, 4}, {1, 2}};
  clarke_walk_state state = CLARKE_WALK_END;
  scene s;
  size_t at;

  open_scene(&s, "input x, y\noutput norm2(3*x, 4*x)", 0, 1, NULL);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  at = last_of(&s.x, CLARKE_DO_NORM);
  undo(&s.w, at);
  s.w.n_enclosed = 0;
  clarke_number_set_si(&s.w.value[at], 0);
  OK(clarke_walk_norm(&s.w, &state, at, &error));
  ck_assert(state == CLARKE_WALK_END && s.w.n_enclosed == 1 && s.w.degree[at] == 2);
  ck_assert(arb_contains_si(s.w.gradient[at][0].b, -5) && arb_contains_si(s.w.gradient[at][0].b, 5));
  ck_assert(!arb_contains_si(s.w.gradient[at][0].b, 6) && !arb_contains_si(s.w.gradient[at][0].b, -6));
  ck_assert(is(&s.w.gradient[at][1], 0));
  close_scene(&s);
  for (size_t i = 0; i < 3; i++) {
    open_scene(&s, "input x, y\noutput norm2(x, y)", 0, 0, i == 0 ? d : i == 1 ? second : diagonal);
    ck_assert_int_eq(on(&s), i < 2 ? CLARKE_WALK_END : CLARKE_WALK_STUCK);
    at = last_of(&s.x, CLARKE_DO_NORM);
    undo(&s.w, at);
    clarke_number_set_si(&s.w.value[at], 0);
    state = CLARKE_WALK_END;
    OK(clarke_walk_norm(&s.w, &state, at, &error));
    ck_assert_int_eq(state, i < 2 ? CLARKE_WALK_END : CLARKE_WALK_STUCK);
    if (i < 2) {
      ck_assert(mpq_cmp_si(s.w.gradient[at][0].q, i == 0 ? 3 : -4, 5) == 0);
      ck_assert(mpq_cmp_si(s.w.gradient[at][1].q, i == 0 ? 4 : 3, 5) == 0);
      for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
        ck_assert(mpq_cmp_ui(s.w.series[at][k], k == i ? 5 : 0, 1) == 0);
    }
    close_scene(&s);
  }
  open_scene(&s, "input x, y\noutput norm2(x, y)", 0, 0, bent);
  ck_assert_int_eq(on(&s), CLARKE_WALK_END);
  {
    mpq_t *const y = s.w.series[last_of(&s.x, CLARKE_DO_NORM)], sum, t;
    static const unsigned long square[CLARKE_SERIES] = {0, 0, 25, 22, 5}; /* (3 t + t^2)^2 + (4 t + 2 t^2)^2 */

    mpq_inits(sum, t, NULL);
    for (size_t k = 2; k < CLARKE_SERIES; k++) {
      mpq_set_ui(sum, 0, 1);
      for (size_t i = 1; i < k; i++) {
        mpq_mul(t, y[i - 1], y[k - i - 1]);
        mpq_add(sum, sum, t);
      }
      ck_assert(mpq_cmp_ui(sum, square[k], 1) == 0);
    }
    mpq_clears(sum, t, NULL);
  }
  close_scene(&s);
}
END_TEST

/* elu at 0 has one slope on both sides, and is no one polynomial. */
START_TEST(a_kink_whose_slopes_agree_is_curved)
{
  static const long d[2][2] = {{1, 0}, {0, 0}};

  for (int along = 0; along < 2; along++) {
    scene s;
    size_t at;

    open_scene(&s, "input x, y\noutput elu(x)", 0, 1, along ? d : NULL);
    ck_assert_int_eq(on(&s), CLARKE_WALK_END);
    at = last_of(&s.x, CLARKE_DO_ELU);
    gradient_is(&s.w, at, 1, 0);
    ck_assert(s.w.degree[at] == 2 && s.w.polynomial[at] == NULL && s.w.lost[at] == along);
    close_scene(&s);
  }
}
END_TEST

MODULE(walk_inside)
{
  TCase *tests = tests_of("walk inside");

  tcase_add_test(tests, series_are_the_functions_along_the_arc);
  tcase_add_test(tests, quotients_are_geometric_series);
  tcase_add_test(tests, a_series_that_is_not_rational_is_lost);
  tcase_add_test(tests, polynomials_are_the_functions_around_the_point);
  tcase_add_test(tests, polynomials_tell_what_is_affine);
  tcase_add_test(tests, gradients_add_up_and_settle);
  tcase_add_test(tests, being_stuck_names_the_place);
  tcase_add_test(tests, factors_that_are_not_zero_are_left_out);
  tcase_add_test(tests, entries_are_taken_with_their_copies);
  tcase_add_test(tests, what_differs_is_told_by_gradients_or_polynomials);
  tcase_add_test(tests, decisions_are_what_must_be_positive);
  tcase_add_test(tests, a_piece_is_chosen_at_a_kink);
  tcase_add_test(tests, an_entry_is_chosen_in_a_tie);
  tcase_add_test(tests, an_arm_is_chosen_where_comparands_are_equal);
  tcase_add_test(tests, norms_of_zeros_are_enclosed_or_follow_the_arc);
  tcase_add_test(tests, a_kink_whose_slopes_agree_is_curved);
  return all_tests;
}
