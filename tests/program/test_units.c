/* Free choices at touched kinks: AD's output under each of them beside tangents carried forward by hand, and chains beside the
 * question whether choices change anything. */
#include "../suites.h"
#include "executed.h"

#include "program/chains.h"
#include "program/units.h"

/* --- tangents by hand --- */

#define MOST 64

/* The partial derivatives of a touched instruction under its choice: choice 0 is the left slope, the first tied entry, the arm
 * taken. */
static void
chosen_partials(mpq_t *d, const clarke_execution *e, const clarke_touched *t, size_t choice)
{
  const clarke_instruction *i = &e->p->instruction[t->instruction];
  mpq_t left, right;

  for (size_t k = 0; k < i->n_in; k++)
    mpq_set_ui(d[k], 0, 1);
  if (i->kind == CLARKE_DO_ORDER)
    mpq_set_ui(d[t->tied[choice]], 1, 1);
  else if (i->kind == CLARKE_DO_BRANCH)
    mpq_set_ui(d[(e->piece[t->instruction] != 0) == (choice == 0) ? 2 : 3], 1, 1);
  else {
    mpq_inits(left, right, NULL);
    clarke_kink_slopes(left, right, i, t->kink);
    mpq_set(d[0], choice == 0 ? left : right);
    mpq_clears(left, right, NULL);
  }
}

/* tangent[i]: of instruction i in the direction of entry j; choice is by instruction. */
static void
tangents(mpq_t *tangent, const clarke_execution *e, size_t j, const size_t *choice)
{
  clarke_number *partial = clarke_numbers(MOST);
  mpq_t *d = clarke_rationals(MOST), term;

  mpq_init(term);
  for (size_t i = 0; i < e->p->n; i++) {
    const clarke_instruction *at = &e->p->instruction[i];
    const clarke_touched *t = clarke_touched_find(e, i);

    mpq_set_ui(tangent[i], i == j, 1);
    if (!e->live[i] || at->n_in == 0)
      continue;
    if (t != NULL)
      chosen_partials(d, e, t, choice[i]);
    else {
      OK(clarke_partials(partial, e, i, NULL, &error));
      for (size_t k = 0; k < at->n_in; k++)
        mpq_set(d[k], partial[k].q);
    }
    for (size_t k = 0; k < at->n_in; k++) {
      mpq_mul(term, d[k], tangent[at->in[k]]);
      mpq_add(tangent[i], tangent[i], term);
    }
  }
  mpq_clear(term);
  clarke_rationals_free(d, MOST);
  clarke_numbers_free(partial, MOST);
}

/* --- every choice --- */

static const char *const programs[] = {
  "input x, y\noutput abs(x) + max(x, y, 2*y)",
  "input x, y\nlet a = relu(x + y)\noutput relu(a - 2*y) + a*3, max(a, y)*2",
  "input x, y\noutput if x < y then 2*x else abs(y) + x",
  "input x, y\nlet a = relu(x)\noutput a - a",
  "input x, y\noutput 0*relu(x) + y",
  "input x, y\noutput relu(x) - relu(-x)",
  "input x, y\noutput max(x, x) + y",
  "input x, y\nlet a = abs(x)\nlet b = max(a, y)\noutput min(b, relu(b - a), 2*b)",
  "input x, y\noutput (x + 1)*relu(x) - relu(y)/(x + 2)",
};

#define PROGRAMS (sizeof programs / sizeof programs[0])

/* The next combination, choice[i] below site's units + 1; false after the last. */
static bool
next_corner(size_t *choice, const clarke_units *u)
{
  for (size_t s = 0; s < u->n_sites; s++) {
    size_t *const c = &choice[u->site[s].instruction];

    if (++*c <= u->site[s].n_units)
      return true;
    *c = 0;
  }
  return false;
}

static void
choose(clarke_units *u, const size_t *choice, bool on)
{
  for (size_t s = 0; s < u->n_sites; s++)
    if (choice[u->site[s].instruction] > 0)
      clarke_units_choose(u, u->site[s].first_unit + choice[u->site[s].instruction] - 1, on);
}

/* AD's output under the choices is what the tangents say. */
static void
corner_is(clarke_units *u, const executed *x, const size_t *choice, mpq_t *gradient)
{
  mpq_t *tangent = clarke_rationals(MOST);

  ck_assert(clarke_units_gradient(gradient, u));
  for (size_t j = 0; j < 2; j++) {
    tangents(tangent, u->e, j, choice);
    for (size_t o = 0; o < u->n_outputs; o++) {
      ck_assert(mpq_equal(gradient[2 * o + j], tangent[x->p.output[o]]));
    }
  }
  for (size_t o = 0; o < u->n_outputs; o++) {
    clarke_units_sweep_output(u, o);
    for (size_t j = 0; j < 2; j++)
      ck_assert(mpq_equal(u->adjoint[u->input[j]].q, gradient[2 * o + j]));
  }
  clarke_rationals_free(tangent, MOST);
}

/* Do all corners have one gradient? Each is compared on the way. */
static bool
visit_corners(clarke_units *u, const executed *x)
{
  mpq_t *gradient = clarke_rationals(4), *first = clarke_rationals(4);
  size_t choice[MOST] = {0};
  bool one = true;

  corner_is(u, x, choice, first);
  while (next_corner(choice, u)) {
    choose(u, choice, true);
    corner_is(u, x, choice, gradient);
    choose(u, choice, false);
    for (size_t k = 0; k < 2 * u->n_outputs; k++)
      one = one && mpq_equal(gradient[k], first[k]);
  }
  memset(choice, 0, sizeof choice);
  corner_is(u, x, choice, gradient); /* all taken back */
  clarke_rationals_free(gradient, 4);
  clarke_rationals_free(first, 4);
  return one;
}

/* A unit's form is scale (in[plus] - in[minus]) in the tangents of the base choice. */
static void
form_is(clarke_units *u, size_t unit)
{
  const clarke_unit *v = &u->unit[unit];
  const size_t *in = u->e->p->instruction[u->site[v->site].instruction].in;
  mpq_t *tangent = clarke_rationals(MOST), sum;
  size_t choice[MOST] = {0};

  mpq_init(sum);
  for (size_t j = 0; j < 2; j++) {
    tangents(tangent, u->e, j, choice);
    mpq_set(sum, tangent[in[v->plus]]);
    if (v->minus != CLARKE_NONE)
      mpq_sub(sum, sum, tangent[in[v->minus]]);
    mpq_mul(sum, sum, v->scale);
    clarke_units_sweep_unit(u, unit);
    ck_assert(mpq_equal(u->adjoint[u->input[j]].q, sum));
  }
  mpq_clear(sum);
  clarke_rationals_free(tangent, MOST);
}

START_TEST(every_choice_gives_what_the_tangents_say)
{
  for (size_t i = 0; i < PROGRAMS; i++) {
    clarke_units u;
    executed x;
    clarke_chains c;
    bool one;

    begin(&x, programs[i], 0, 0);
    clarke_units_init(&u);
    OK(clarke_units_find(&u, &x.e, &error));
    ck_assert_msg(u.known, "%s", programs[i]);
    for (size_t v = 0; v < u.n; v++)
      form_is(&u, v);
    one = visit_corners(&u, &x);
    OK(clarke_chains_init(&c, &u, &error));
    OK(clarke_chains_find(&c, &error));
    ck_assert(!c.unsure && c.kept);
    ck_assert_msg((c.chain == CLARKE_NONE) == one, "%s", programs[i]);
    clarke_chains_clear(&c);
    clarke_units_clear(&u);
    end(&x);
  }
}
END_TEST

/* relu after relu: the second's unit hangs on the first, and the first on the input. */
START_TEST(links_are_the_sweeps_between_sites)
{
  clarke_units u;
  clarke_chains c;
  executed x;

  begin(&x, "input x, y\nlet a = abs(x)\noutput 5*max(7*a, y) + 2*a", 0, 0);
  clarke_units_init(&u);
  OK(clarke_units_find(&u, &x.e, &error));
  ck_assert(u.n_sites == 2 && u.n == 2);
  OK(clarke_chains_init(&c, &u, &error));
  OK(clarke_chains_find(&c, &error));
  ck_assert(c.reached[0] && c.reached[1]);
  ck_assert(mpq_cmp_ui(c.sink[0], 37, 1) == 0 && mpq_cmp_ui(c.sink[1], 5, 1) == 0); /* 5 * 7 + 2; 5 */
  /* The tie's unit is y - 7 a: -7 from the site of abs; 7 in x, whose base slope is -1, and 1 in y. */
  ck_assert(c.n_site[1] == 1 && c.to_site.link[c.first_site[1]].from == 0);
  ck_assert(mpq_cmp_si(c.to_site.link[c.first_site[1]].value, -7, 1) == 0);
  ck_assert_uint_eq(c.n_input[1], 2);
  ck_assert(mpq_cmp_ui(c.to_input.link[c.first_input[1]].value, 7, 1) == 0);
  ck_assert(mpq_cmp_ui(c.to_input.link[c.first_input[1] + 1].value, 1, 1) == 0);
  ck_assert(c.n_site[0] == 0 && c.n_input[0] == 1); /* the unit of abs is 2 x */
  ck_assert(mpq_cmp_ui(c.to_input.link[c.first_input[0]].value, 2, 1) == 0);
  ck_assert_uint_lt(c.chain, 2);
  clarke_chains_clear(&c);
  clarke_units_clear(&u);
  end(&x);
}
END_TEST

START_TEST(what_is_not_known_is_said)
{
  static const char *const unknown[] = {"input x, y\noutput norm2(x, y)", "input x, y\noutput if x < y then 1 else 2*x",
                                        "input x, y\noutput if x < y then 1/x else 2*x"};
  mpq_t *gradient = clarke_rationals(2);
  clarke_units u;
  executed x;

  for (size_t i = 0; i < 3; i++) {
    begin(&x, unknown[i], 0, 0);
    clarke_units_init(&u);
    OK(clarke_units_find(&u, &x.e, &error));
    ck_assert_msg(!u.known, "%s", unknown[i]);
    clarke_units_clear(&u);
    end(&x);
  }
  begin(&x, "input x, y\noutput exp(1)*abs(x)", 0, 0);
  clarke_units_init(&u);
  OK(clarke_units_find(&u, &x.e, &error));
  ck_assert(u.known && !clarke_units_gradient(gradient, &u)); /* -e is not rational */
  clarke_units_clear(&u);
  ck_assert(u.unit == NULL && u.n == 0);
  end(&x);
  clarke_rationals_free(gradient, 2);
}
END_TEST

MODULE(units)
{
  TCase *tests = tests_of("units");

  tcase_add_test(tests, every_choice_gives_what_the_tangents_say);
  tcase_add_test(tests, links_are_the_sweeps_between_sites);
  tcase_add_test(tests, what_is_not_known_is_said);
  return all_tests;
}
