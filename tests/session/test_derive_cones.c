/* Clarke sets of drawn networks with respect to their input, or one of their parameters, and of programs: what the cones say is what
 * the tree of patterns says. */
#include "../ok.h"

#include "../network/networks.h"
#include "../region/drawn_program.h"
#include "network/graph/build.h"
#include "program/unroll/unroll.h"
#include "program/hold.h"
#include "session/derive.h"

#include <stdlib.h>
#include <string.h>

/* Is each of a's points one of b's? */
static bool
is_within(const clarke_points *a, const clarke_points *b)
{
  for (size_t i = 0; i < a->n; i++) {
    bool found = false;

    for (size_t j = 0; j < b->n && !found; j++) {
      found = true;
      for (size_t k = 0; k < a->dim && found; k++)
        found = mpq_equal(a->entry[i * a->dim + k], b->entry[j * b->dim + k]);
    }
    if (!found)
      return false;
  }
  return true;
}

/* Some numbers are halves, so that sums are often 0. */
static double
halves(uint64_t *state)
{
  return (double)draw_between(state, -2, 2) / 2;
}

static bool
hold(clarke_derive_session *s, const clarke_tensor *x)
{
  mpq_t *point = NULL;
  size_t n = 0;

  OK(clarke_unroll(&s->held, &point, &n, &s->graph, x, "in", &error));
  s->is_held = clarke_code_hold(&s->held, point, &error) == CLARKE_OK;
  clarke_rationals_free(point, n);
  return s->is_held;
}

/* A session as derive_network.c makes it, of the drawn graph, with respect to its input or to a parameter. */
static bool
open_session(clarke_derive_session *s, const clarke_model *m, const clarke_tensor *x, bool input, uint64_t *state)
{
  char *name[1];

  clarke_derive_session_init(s);
  OK(clarke_profile_load(&s->profile, NULL, &error));
  OK(clarke_graph_build(&s->graph, m, x, &error));
  s->network = true;
  if (!input) {
    if (s->graph.n_parameters == 0)
      return false;
    name[0] = s->graph.parameters[draw_below(state, s->graph.n_parameters)].name;
    if (clarke_graph_wrt(&s->graph, name, 1, &error) != CLARKE_OK)
      return false;
  }
  return clarke_unroll(&s->program, &s->at, &s->n_at, &s->graph, x, "in", &error) == CLARKE_OK && (input || hold(s, x));
}

/* The tree's time grows with the cells. */
static bool
is_small(const clarke_code *p)
{
  size_t kinks = 0;

  for (size_t i = 0; i < p->n; i++)
    kinks += p->instruction[i].kind == CLARKE_DO_PIECEWISE || p->instruction[i].kind == CLARKE_DO_ORDER;
  return kinks <= 8;
}

typedef struct {
  size_t compared, several; /* several: of more than one element */
} counts;

static void
compare(counts *c, clarke_derive_session *s)
{
  clarke_derivation by_cones, by_tree;

  clarke_derivation_init(&by_cones);
  clarke_derivation_init(&by_tree);
  OK(clarke_derive_ask(&by_cones, s, &error));
  OK(clarke_derive(&by_tree, &s->program, s->at, &s->profile, &error));
  if (by_tree.sets_known) {
    ck_assert(by_cones.sets_known);
    ck_assert(is_within(&by_cones.bouligand, &by_tree.bouligand) && is_within(&by_tree.bouligand, &by_cones.bouligand));
    ck_assert(is_within(&by_cones.clarke, &by_tree.clarke) && is_within(&by_tree.clarke, &by_cones.clarke));
    ck_assert_int_eq(by_cones.differentiable, by_tree.differentiable);
    ck_assert_int_eq(by_cones.verdict, by_tree.verdict);
    c->compared += by_cones.patterns.cones;
    c->several += by_cones.bouligand.n > 1;
  }
  clarke_derivation_clear(&by_tree);
  clarke_derivation_clear(&by_cones);
}

/* _i: 0 of a parameter, 1 of the input. */
START_TEST(cones)
{
  uint64_t state = 2463534242u;
  counts c = {0};

  for (int k = 0; k < 2000; k++) {
    growing grown;
    clarke_tensor x = grow_model(&grown, &state, halves, 2 + draw_below(&state, 7));
    clarke_derive_session s;

    if (open_session(&s, &grown.m, &x, _i == 1, &state) && is_small(&s.program))
      compare(&c, &s);
    clarke_derive_session_clear(&s);
    clarke_model_clear(&grown.m);
    clarke_tensor_clear(&x);
  }
  ck_assert_uint_gt(c.compared, 100);
  ck_assert_uint_gt(c.several, 30);
}
END_TEST

/* Of a program enough kinks, most of them far away; with respect to all inputs, or the first, y, is held and multiplies the others. */
static void
put_program(source *text, uint64_t *state, size_t inputs, bool held)
{
  put(text, "input y\n");
  put_network(text, state, inputs, NULL);
  text->n--;
  put(text, held ? " + y * relu(y * x0 - abs(y) * x%zu)" : " + relu(y - x%zu)", inputs - 1);
  for (int k = 0; k < 13; k++)
    put(text, " + relu(x0 - %d)", 9 + k);
  put(text, "\n");
}

static void
open_program(clarke_derive_session *s, source *text, uint64_t *state, size_t inputs, bool held)
{
  static char names[3][3] = {"x0", "x1", "x2"};

  clarke_derive_session_init(s);
  OK(clarke_profile_load(&s->profile, NULL, &error));
  OK(clarke_prog_read(&s->prog, text->text, text->n, "drawn.prog", &error));
  OK(clarke_prog_lower(&s->program, &s->prog, &error));
  s->n_at = clarke_code_entries(&s->program);
  s->at = clarke_rationals(s->n_at);
  for (size_t i = 0; i < s->n_at; i++)
    mpq_set_si(s->at[i], draw_between(state, -1, 1), 1);
  if (held) { /* as of --wrt x0,... */
    s->n_wrt = inputs;
    s->wrt = calloc(inputs, sizeof *s->wrt);
    for (size_t i = 0; i < inputs; i++)
      s->wrt[i] = strdup(names[i]);
  }
  OK(clarke_code_wrt(&s->program, s->wrt, s->n_wrt, &error));
}

/* _i: 0 all, 1 with y held. */
START_TEST(programs)
{
  uint64_t state = 88172645463325252u;
  counts c = {0};

  for (int k = 0; k < 150; k++) {
    const size_t inputs = 1 + draw_below(&state, 3);
    source text = {.n = 0};
    clarke_derive_session s;

    put_program(&text, &state, inputs, _i == 1);
    open_program(&s, &text, &state, inputs, _i == 1);
    compare(&c, &s);
    ck_assert(_i == 0 || s.is_held);
    clarke_derive_session_clear(&s);
  }
  ck_assert_uint_gt(c.compared, 120);
  ck_assert_uint_gt(c.several, 40);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("derive_cones");

  tcase_add_loop_test(tests, cones, 0, 2);
  tcase_add_loop_test(tests, programs, 0, 2);
  return run_tests();
}
