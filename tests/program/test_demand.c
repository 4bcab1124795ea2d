/* Demand order beside its definition: depth first, arguments from the first to the last, each once; of a branch its comparands,
 * then the arm it takes. */
#include "../exact/brute.h"

#include "program/demand.h"

#include <stdio.h>

enum { MOST = 40 };

/* A comes-for-its-arm is written as -1 - i. */
typedef struct {
  long list[4 * MOST];
  size_t n;
  bool done[MOST];
} visits;

/* Which arm a branch takes: any. */
static int8_t
arm_of(size_t instruction, size_t turn)
{
  return (instruction * 7 + turn) % 3 == 0 ? 1 : -1;
}

static void
visit(visits *v, const clarke_code *p, size_t i, size_t turn)
{
  const clarke_instruction *at = &p->instruction[i];
  const bool branch = at->kind == CLARKE_DO_BRANCH;

  if (v->done[i])
    return;
  for (size_t k = 0; k < (branch ? 2 : at->n_in); k++)
    visit(v, p, at->in[k], turn);
  if (branch) {
    v->list[v->n++] = -1 - (long)i;
    visit(v, p, at->in[arm_of(i, turn) == 1 ? 2 : 3], turn);
  }
  v->list[v->n++] = (long)i;
  v->done[i] = true;
}

static void
draw_code(clarke_code *p)
{
  const clarke_relation relation = CLARKE_LT;
  mpq_t *coef = new_rationals(4);
  size_t at, in[4];

  clarke_code_init(p);
  OK(clarke_code_add_input(p, &at, "x", 2, true, &error));
  for (int n = draw(3, MOST - 3); n > 0; n--) {
    for (size_t k = 0; k < 4; k++)
      in[k] = (size_t)draw(0, (int)p->n - 1);
    switch (draw(0, 2)) {
    case 0:
      OK(clarke_code_add_branch(p, &at, relation, in, &error));
      break;
    case 1:
      OK(clarke_code_add(p, &at, CLARKE_DO_PRODUCT, 2, in, &error));
      break;
    default:
      OK(clarke_code_add_linear(p, &at, (size_t)draw(0, 3), in, coef, &error));
    }
  }
  for (int n = draw(1, 3); n > 0; n--)
    OK(clarke_code_add_output(p, (size_t)draw((int)p->n / 2, (int)p->n - 1), &error));
  free_rationals(coef, 4);
}

/* One run to the end; branches that came. */
static size_t
compare_run(clarke_demand *d, const clarke_code *p, size_t turn)
{
  visits v = {.n = 0};
  size_t branches = 0, i;

  for (size_t k = 0; k < p->n_outputs; k++)
    visit(&v, p, p->output[k], turn);
  for (size_t k = 0; k < v.n; k++) {
    i = clarke_demand_next(d);
    if (v.list[k] < 0) {
      ck_assert_uint_eq(i, (size_t)(-1 - v.list[k]));
      ck_assert_int_eq(d->arm[i], 0);
      d->arm[i] = arm_of(i, turn);
      branches++;
    } else {
      ck_assert_uint_eq(i, (size_t)v.list[k]);
      ck_assert(!d->done[i]);
      d->done[i] = true;
    }
  }
  ck_assert_uint_eq(clarke_demand_next(d), CLARKE_NONE);
  return branches;
}

START_TEST(drawn_programs)
{
  size_t branches = 0;

  brute_state = 5;
  for (size_t k = 0; k < 500; k++) {
    clarke_demand d;
    clarke_code p;

    draw_code(&p);
    OK(clarke_demand_init(&d, &p, &error));
    for (size_t turn = 0; turn < 3; turn++) { /* from the beginning, other arms; once it is cut off */
      branches += compare_run(&d, &p, turn);
      clarke_demand_restart(&d);
      if (turn == 0)
        clarke_demand_next(&d);
      if (turn == 0)
        clarke_demand_restart(&d);
    }
    clarke_demand_clear(&d);
    clarke_code_clear(&p);
  }
  printf("%zu branches\n", branches);
  ck_assert_uint_gt(branches, 1000);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("demand");

  tcase_add_test(tests, drawn_programs);
  return run_tests();
}
