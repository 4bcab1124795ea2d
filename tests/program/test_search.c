/* The search for patterns, part by part: decisions on a path, what refutes a branch and what realizes a pattern, each checked by what
 * it has to satisfy. */
#include "../suites.h"
#include "executed.h"

#include "program/patterns_inside.h"

#include <flint/fmpq.h>

typedef struct {
  executed x;
  clarke_patterns t;
  clarke_pattern_search s;
} scene;

static void
open_scene(scene *c, const char *text, long a, long b)
{
  begin(&c->x, text, a, b);
  clarke_patterns_init(&c->t);
  c->s = (clarke_pattern_search){.t = &c->t, .e = &c->x.e, .width = 2};
  c->t.width = 2;
  c->t.dim = 2 * c->x.p.n_outputs;
  OK(clarke_walk_init(&c->s.walk, &c->x.e, NULL, 0, &error));
}

static void
close_scene(scene *c)
{
  clarke_search_drop(&c->s, 0);
  free(c->s.row);
  free(c->s.path);
  clarke_walk_clear(&c->s.walk);
  clarke_patterns_clear(&c->t);
  end(&c->x);
}

static clarke_walk_state
on(scene *c)
{
  clarke_walk_state state;

  OK(clarke_walk_on(&c->s.walk, &state, &error));
  return state;
}

/* The path goes on by a choice. */
static void
take(scene *c, size_t choice)
{
  ck_assert_int_eq(on(c), CLARKE_WALK_FORK);
  OK(clarke_search_decide(&c->s, choice, &error));
  OK(clarke_search_path_append(&c->s, choice, &error));
  clarke_walk_choose(&c->s.walk, choice);
}

static bool
positive_along(const scene *c, long a, long b, size_t from, bool linear_only)
{
  mpq_t *d = clarke_rationals(2);
  bool positive;

  mpq_set_si(d[0], a, 1);
  mpq_set_si(d[1], b, 1);
  positive = clarke_search_positive(&c->s, d, from, linear_only);
  clarke_rationals_free(d, 2);
  return positive;
}

static const char bent[] = "input x, y\nlet a = relu(x)\noutput max(a, y) + 2*x";

/* --- decisions --- */

START_TEST(decisions_pile_up_on_the_path)
{
  scene c;

  open_scene(&c, bent, 0, 0);
  take(&c, 0);
  take(&c, 1);
  ck_assert(c.s.n_rows == 2 && c.s.n_path == 2 && c.s.path[0] == 0 && c.s.path[1] == 1);
  for (size_t i = 0; i < 2; i++)
    ck_assert(c.s.row[i].affine && c.s.row[i].linear && c.s.row[i].q == NULL);
  ck_assert(is(&c.s.row[0].gradient[0], -1) && is(&c.s.row[0].gradient[1], 0));
  ck_assert(is(&c.s.row[1].gradient[0], 0) && is(&c.s.row[1].gradient[1], 1));
  ck_assert(positive_along(&c, -1, 1, 0, false));
  ck_assert(!positive_along(&c, 1, 1, 0, false) && positive_along(&c, 1, 1, 1, false));
  ck_assert(!positive_along(&c, -1, 0, 0, false)); /* zero is not positive */
  clarke_search_drop(&c.s, 1);
  ck_assert(c.s.n_rows == 1 && is(&c.s.row[0].gradient[0], -1));
  close_scene(&c);
}
END_TEST

/* Near (1, 1), x x - y y is (h - k)(2 + h + k), whose sign is that of h - k; x x + y - 2 is 2 h + k + h h. */
START_TEST(a_decision_with_a_linear_factor_is_linear)
{
  static const struct {
    const char *text;
    bool affine, linear;
  } known[] = {{"input x, y\noutput relu(x - y)", true, true}, {"input x, y\noutput relu(x*x - y*y)", false, true},
               {"input x, y\noutput relu(x*x + y - 2)", false, false}, {"input x, y\noutput relu(exp(x - y) - 1)", false, false}};

  for (size_t i = 0; i < 4; i++) {
    scene c;

    open_scene(&c, known[i].text, 1, 1);
    take(&c, 1);
    ck_assert_msg(c.s.row[0].affine == known[i].affine && c.s.row[0].linear == known[i].linear, "%s", known[i].text);
    ck_assert((c.s.row[0].q != NULL) == (i == 1 || i == 2));
    ck_assert(positive_along(&c, -1, 0, 0, true) != known[i].linear);
    ck_assert(!positive_along(&c, -1, 0, 0, false) && positive_along(&c, 1, 0, 0, false));
    close_scene(&c);
  }
}
END_TEST

/* --- cones and refutations --- */

/* Multipliers of the decisions named make their gradients cancel. */
static void
cancels(const scene *c, const clarke_gordan *g)
{
  mpq_t sum, t;

  mpq_inits(sum, t, NULL);
  ck_assert(clarke_gordan_is_valid(g));
  for (size_t k = 0; k < 2; k++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < g->n; i++) {
      mpq_mul(t, g->multiplier[i].u, c->s.row[g->multiplier[i].of].gradient[k].q);
      mpq_add(sum, sum, t);
    }
    ck_assert(mpq_sgn(sum) == 0);
  }
  mpq_clears(sum, t, NULL);
}

static void
cone_clear(clarke_search_cone *r)
{
  clarke_rationals_free(r->d, 2);
  clarke_gordan_clear(&r->gordan);
}

START_TEST(a_cone_has_a_direction_or_multipliers)
{
  clarke_search_cone r;
  scene c;

  open_scene(&c, "input x, y\noutput relu(y) + relu(x/3 + y/2) + relu(-x - 3/2*y)", 0, 0);
  OK(clarke_search_solve(&r, &c.s, false, &error));
  ck_assert(r.answer == CLARKE_CONE_FEASIBLE && r.d != NULL); /* no decision yet */
  cone_clear(&r);
  take(&c, 0);
  take(&c, 1);
  OK(clarke_search_solve(&r, &c.s, false, &error));
  ck_assert(r.answer == CLARKE_CONE_FEASIBLE && clarke_search_positive(&c.s, r.d, 0, false) && r.gordan.n == 0);
  ck_assert_uint_gt(c.s.work, 0);
  cone_clear(&r);
  take(&c, 1);
  OK(clarke_search_solve(&r, &c.s, true, &error));
  ck_assert(r.answer == CLARKE_CONE_EMPTY && r.gordan.n == 2 && r.gordan.multiplier[0].of == 1 && r.gordan.multiplier[1].of == 2);
  cancels(&c, &r.gordan);
  cone_clear(&r);
  c.s.row[1].linear = false; /* it is not asked, then, where linear ones are */
  OK(clarke_search_solve(&r, &c.s, true, &error));
  ck_assert(r.answer == CLARKE_CONE_FEASIBLE && clarke_search_positive(&c.s, r.d, 0, true));
  cone_clear(&r);
  close_scene(&c);
}
END_TEST

static void
branch_free(clarke_search_branch *b)
{
  clarke_gordan_clear(&b->gordan);
  clarke_rationals_free(b->witness, 2);
}

START_TEST(a_branch_is_judged_where_it_begins)
{
  clarke_search_branch b = {.n_choices = 0};
  scene c;

  open_scene(&c, "input x, y\noutput relu(x + y) + relu(-x - y + 0*x)", 0, 0);
  take(&c, 1);
  ck_assert_int_eq(on(&c), CLARKE_WALK_FORK);
  OK(clarke_search_judge(&b, &c.s, 1, &error));
  ck_assert(b.refuted && b.depth == 2 && b.gordan.n == 2 && b.gordan.multiplier[0].of == 0 && b.gordan.multiplier[1].of == 1);
  ck_assert(mpq_equal(b.gordan.multiplier[0].u, b.gordan.multiplier[1].u) && c.s.n_rows == 1);
  branch_free(&b);
  b = (clarke_search_branch){.n_choices = 0};
  OK(clarke_search_judge(&b, &c.s, 0, &error));
  ck_assert(!b.refuted && b.depth == 2 && b.witness != NULL && c.s.n_rows == 1);
  OK(clarke_search_decide(&c.s, 0, &error));
  ck_assert(clarke_search_positive(&c.s, b.witness, 0, false));
  clarke_search_drop(&c.s, 1);
  c.s.witness = b.witness; /* the path's witness serves its branch */
  b = (clarke_search_branch){.n_choices = 0};
  OK(clarke_search_judge(&b, &c.s, 0, &error));
  ck_assert(b.witness != NULL && b.witness != c.s.witness && mpq_equal(b.witness[0], c.s.witness[0]) && mpq_equal(b.witness[1], c.s.witness[1]));
  branch_free(&b);
  clarke_rationals_free(c.s.witness, 2);
  c.s.witness = NULL;
  close_scene(&c);
}
END_TEST

/* y - x x and -y - x x are not both positive anywhere: their sum is -2 x x. */
START_TEST(polynomials_refute_what_gradients_do_not)
{
  for (int refuted = 0; refuted < 2; refuted++) {
    clarke_search_branch b = {.n_choices = 0};
    scene c;

    open_scene(&c, refuted ? "input x, y\noutput relu(y - x*x) + relu(-y - x*x)" : "input x, y\noutput relu(y - x*x) + relu(-y + 3*(x*x))", 0, 0);
    take(&c, 1);
    ck_assert_int_eq(on(&c), CLARKE_WALK_FORK);
    OK(clarke_search_judge(&b, &c.s, 1, &error));
    ck_assert_int_eq(b.refuted, refuted); /* x x < y < 3 x x does occur */
    ck_assert(b.gordan.n == (refuted ? 2 : 0));
    if (refuted)
      ck_assert(mpq_sgn(b.gordan.multiplier[0].u) > 0 && mpq_equal(b.gordan.multiplier[0].u, b.gordan.multiplier[1].u) && b.gordan.multiplier[0].of == 0 && b.gordan.multiplier[1].of == 1);
    branch_free(&b);
    close_scene(&c);
  }
}
END_TEST

/* --- patterns --- */

START_TEST(a_pattern_is_realized_by_a_direction)
{
  clarke_pattern p = {.n_choices = 0};
  mpq_t *steps[2] = {clarke_rationals(2), clarke_rationals(2)};
  scene c;

  open_scene(&c, bent, 0, 0);
  OK(clarke_search_realize(&p, &c.s, &error));
  ck_assert(p.realized && p.first_order && p.n_directions == 0); /* no decision */
  take(&c, 0);
  take(&c, 1);
  p = (clarke_pattern){.n_choices = 0};
  OK(clarke_search_realize(&p, &c.s, &error));
  ck_assert(p.realized && p.first_order && p.n_directions == 1 && clarke_search_positive(&c.s, p.direction[0], 0, false));
  clarke_pattern_clear(&p, &c.t);
  { /* a derivative between -1 and 3, whose middle alone is positive */
    clarke_number *g = &c.s.row[0].gradient[0], three;

    clarke_number_init(&three);
    clarke_number_set_si(&three, 3);
    clarke_number_set_si(g, -1);
    clarke_number_join(g, g, &three, 64);
    clarke_number_clear(&three);
    p = (clarke_pattern){.n_choices = 0};
    OK(clarke_search_realize(&p, &c.s, &error));
    ck_assert(!p.realized && p.n_directions == 0);
  }
  close_scene(&c);
  open_scene(&c, "input x, y\noutput relu(x*x - y*y*y)", 0, 0); /* to first order it is zero whatever the direction */
  take(&c, 1);
  p = (clarke_pattern){.n_choices = 0};
  OK(clarke_search_realize(&p, &c.s, &error));
  ck_assert(!p.realized && !p.first_order && p.n_directions == 0);
  mpq_set_si(steps[0][1], 3, 1);
  mpq_set_si(steps[1][0], -2, 5);
  OK(clarke_search_give(&p, steps, 2, 2, &error));
  ck_assert(p.realized && p.n_directions == 2 && p.direction[0] != steps[0]);
  ck_assert(mpq_cmp_ui(p.direction[0][1], 3, 1) == 0 && mpq_cmp_si(p.direction[1][0], -2, 5) == 0 && mpq_sgn(p.direction[1][1]) == 0);
  clarke_pattern_clear(&p, &c.t);
  close_scene(&c);
  clarke_rationals_free(steps[0], 2);
  clarke_rationals_free(steps[1], 2);
}
END_TEST

START_TEST(a_pattern_has_the_outputs_gradient)
{
  for (size_t choice = 0; choice < 2; choice++) {
    clarke_pattern p = {.n_choices = 0};
    scene c;

    open_scene(&c, "input x, y\noutput (if x > 0 then 1 else 0) + y, exp(1)*x", 0, 0);
    take(&c, choice);
    ck_assert_int_eq(on(&c), CLARKE_WALK_END);
    OK(clarke_search_outputs(&p, &c.s.walk, &c.t, &error));
    ck_assert(c.t.jumps == (choice == 1)); /* right of 0 it is 1, and 0 at the point */
    ck_assert(is(&p.gradient[0], 0) && is(&p.gradient[1], 1) && is(&p.gradient[3], 0));
    ck_assert(!p.exact && !p.gradient[2].exact && clarke_number_double(&p.gradient[2]) > 2.718 && clarke_number_double(&p.gradient[2]) < 2.719);
    clarke_pattern_clear(&p, &c.t);
    close_scene(&c);
  }
}
END_TEST

static void
set_arc(mpq_t **arc, long a, long b, long p, long q)
{
  mpq_set_si(arc[0][0], a, 1);
  mpq_set_si(arc[0][1], b, 1);
  mpq_set_si(arc[1][0], p, 1);
  mpq_set_si(arc[1][1], q, 1);
}

START_TEST(an_arc_leads_to_a_pattern)
{
  mpq_t *arc[2] = {clarke_rationals(2), clarke_rationals(2)};
  clarke_walk w;
  bool ended;
  scene c;

  open_scene(&c, bent, 0, 0);
  OK(clarke_walk_init(&w, &c.x.e, arc, 2, &error));
  set_arc(arc, 1, 2, 0, 0);
  OK(clarke_search_along(&ended, &c.s, &w, arc, &error));
  ck_assert(ended && c.s.n_path == 2 && c.s.path[0] == 1 && c.s.path[1] == 1);
  set_arc(arc, 1, 1, 0, -1); /* x = t, y = t - t t */
  OK(clarke_search_along(&ended, &c.s, &w, arc, &error));
  ck_assert(ended && c.s.n_path == 2 && c.s.path[0] == 1 && c.s.path[1] == 0);
  set_arc(arc, 0, 1, 0, 0); /* it stays at the kink */
  OK(clarke_search_along(&ended, &c.s, &w, arc, &error));
  ck_assert(!ended);
  clarke_walk_clear(&w);
  close_scene(&c);
  clarke_rationals_free(arc[0], 2);
  clarke_rationals_free(arc[1], 2);
}
END_TEST

/* Directions are taken off a tree's patterns, and found again along arcs: each does lead to its pattern. */
START_TEST(arcs_find_every_pattern_again)
{
  clarke_walk w;
  bool ended;
  scene c;

  open_scene(&c, "input x, y\noutput max(relu(x*x - y), abs(y) + x)", 0, 0);
  OK(clarke_patterns_find(&c.t, &c.x.e, &error));
  ck_assert(c.t.n >= 4 && clarke_patterns_all_realized(&c.t) && !clarke_patterns_enclose(&c.t));
  for (size_t i = 0; i < c.t.n; i++) {
    clarke_pattern *p = &c.t.pattern[i];

    for (size_t k = 0; k < p->n_directions; k++)
      clarke_rationals_free(p->direction[k], 2);
    free(p->direction);
    p->direction = NULL;
    p->n_directions = 0;
    p->realized = false;
    ck_assert(!clarke_patterns_all_realized(&c.t));
  }
  OK(clarke_search_arcs(&c.s, &error));
  ck_assert(clarke_patterns_all_realized(&c.t));
  for (size_t i = 0; i < c.t.n; i++) {
    const clarke_pattern *p = &c.t.pattern[i];

    OK(clarke_walk_init(&w, &c.x.e, p->direction, p->n_directions, &error));
    OK(clarke_search_along(&ended, &c.s, &w, p->direction, &error));
    ck_assert(ended && c.s.n_path == p->n_choices && memcmp(c.s.path, p->choice, p->n_choices * sizeof *p->choice) == 0);
    clarke_walk_clear(&w);
  }
  close_scene(&c);
}
END_TEST

/* Of a norm at zero: rational unit vectors, no two the same, each the direction of its arc. */
START_TEST(cells_are_unit_vectors)
{
  mpq_t sum, t, cross;
  scene c;

  mpq_inits(sum, t, cross, NULL);
  open_scene(&c, "input x, y\noutput norm2(x, y)", 0, 0);
  OK(clarke_search_cells(&c.s, &error));
  ck_assert(c.t.n_cells == c.t.n && c.t.n >= 12);
  for (size_t i = 0; i < c.t.n; i++) {
    const clarke_number *g = c.t.pattern[i].gradient;
    mpq_t *const *d = (mpq_t *const *)c.t.pattern[i].direction;
    const size_t first = mpq_sgn(d[0][0]) != 0 || mpq_sgn(d[0][1]) != 0 ? 0 : 1;

    ck_assert(c.t.pattern[i].realized && c.t.pattern[i].exact && !c.t.pattern[i].enclosed);
    mpq_mul(sum, g[0].q, g[0].q);
    mpq_mul(t, g[1].q, g[1].q);
    mpq_add(sum, sum, t);
    ck_assert(mpq_cmp_ui(sum, 1, 1) == 0);
    mpq_mul(cross, g[0].q, d[first][1]);
    mpq_mul(t, g[1].q, d[first][0]);
    ck_assert(mpq_equal(cross, t)); /* along the arc, and in its sense: */
    ck_assert(mpq_sgn(g[0].q) == mpq_sgn(d[first][0]) && mpq_sgn(g[1].q) == mpq_sgn(d[first][1]));
    for (size_t j = 0; j < i; j++)
      ck_assert(!clarke_numbers_equal(g, c.t.pattern[j].gradient, 2));
  }
  c.t.pattern[1].enclosed = true;
  ck_assert(clarke_patterns_enclose(&c.t));
  close_scene(&c);
  mpq_clears(sum, t, cross, NULL);
}
END_TEST

START_TEST(small_integers_are_drawn_evenly)
{
  uint64_t state = 1, again = 1;
  int count[7] = {0};

  for (int n = 0; n < 7000; n++) {
    const int small = clarke_search_small(&state);

    ck_assert(small >= -3 && small <= 3 && clarke_search_small(&again) == small);
    count[small + 3]++;
  }
  for (size_t k = 0; k < 7; k++)
    ck_assert(count[k] > 850 && count[k] < 1150);
}
END_TEST

START_TEST(gradients_come_once_and_in_order)
{
  static const struct {
    const char *text;
    size_t n;
    long gradient[4][2];
  } known[] = {{"input x, y\noutput abs(x) + abs(y)", 4, {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}}},
               {"input x, y\noutput relu(x) - relu(-x) + max(y, 0)", 2, {{1, 0}, {1, 1}}}};

  for (size_t i = 0; i < 2; i++) {
    const clarke_number **gradient;
    size_t n;
    scene c;

    open_scene(&c, known[i].text, 0, 0);
    OK(clarke_patterns_find(&c.t, &c.x.e, &error));
    OK(clarke_patterns_gradients(&gradient, &n, &c.t, &error));
    ck_assert_uint_eq(n, known[i].n);
    for (size_t k = 0; k < n; k++)
      ck_assert(is(&gradient[k][0], known[i].gradient[k][0]) && is(&gradient[k][1], known[i].gradient[k][1]));
    free(gradient);
    for (size_t k = 0; k < c.t.n; k++) /* of those realized only */
      c.t.pattern[k].realized = is(&c.t.pattern[k].gradient[1], 1);
    OK(clarke_patterns_gradients(&gradient, &n, &c.t, &error));
    ck_assert_uint_eq(n, known[i].n / 2);
    free(gradient);
    close_scene(&c);
  }
}
END_TEST

/* --- along a chooser's path --- */

static clarke_status
always(size_t *choice, void *context, const clarke_walk *w, clarke_error *err)
{
  const size_t *wanted = context;

  ck_assert(w->fork.n_choices == 2 && err == &error);
  *choice = *wanted;
  return CLARKE_OK;
}

START_TEST(a_chooser_leads_to_one_pattern)
{
  for (size_t wanted = 0; wanted < 3; wanted++) {
    size_t choice = wanted < 2 ? wanted : CLARKE_NONE, found;
    clarke_patterns t;
    executed x;

    begin(&x, bent, 0, 0);
    clarke_patterns_init(&t);
    OK(clarke_patterns_along(&t, &found, &x.e, always, &choice, &error));
    if (wanted == 2)
      ck_assert(found == CLARKE_NONE && t.n == 0);
    else {
      ck_assert(found == 0 && t.n == 1 && t.pattern[0].n_choices == 2 && t.pattern[0].realized);
      ck_assert(t.pattern[0].choice[0] == wanted && t.pattern[0].choice[1] == wanted);
      ck_assert(is(&t.pattern[0].gradient[0], 2) && is(&t.pattern[0].gradient[1], (long)wanted));
    }
    clarke_patterns_clear(&t);
    end(&x);
  }
}
END_TEST

START_TEST(no_tree_is_grown_where_gradients_are_too_many)
{
  executed x;

  begin(&x, bent, 0, 0);
  ck_assert(!clarke_patterns_too_large(&x.e));
  x.e.n_order = ((size_t)1 << 21) / 3;
  ck_assert(!clarke_patterns_too_large(&x.e));
  x.e.n_order++;
  ck_assert(clarke_patterns_too_large(&x.e));
  end(&x);
}
END_TEST

MODULE(search)
{
  TCase *tests = tests_of("search");

  tcase_add_test(tests, decisions_pile_up_on_the_path);
  tcase_add_test(tests, a_decision_with_a_linear_factor_is_linear);
  tcase_add_test(tests, a_cone_has_a_direction_or_multipliers);
  tcase_add_test(tests, a_branch_is_judged_where_it_begins);
  tcase_add_test(tests, polynomials_refute_what_gradients_do_not);
  tcase_add_test(tests, a_pattern_is_realized_by_a_direction);
  tcase_add_test(tests, a_pattern_has_the_outputs_gradient);
  tcase_add_test(tests, an_arc_leads_to_a_pattern);
  tcase_add_test(tests, arcs_find_every_pattern_again);
  tcase_add_test(tests, cells_are_unit_vectors);
  tcase_add_test(tests, small_integers_are_drawn_evenly);
  tcase_add_test(tests, gradients_come_once_and_in_order);
  tcase_add_test(tests, a_chooser_leads_to_one_pattern);
  tcase_add_test(tests, no_tree_is_grown_where_gradients_are_too_many);
  return all_tests;
}
