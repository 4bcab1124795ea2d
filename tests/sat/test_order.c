/* The order of a solver's variables, against a look at all of them. */
#include "sat/solver.h"
#include "../draw.h"
#include "../suite.h"

#include <stdlib.h>

#define VARIABLES 40

typedef struct {
  signed char value[2 * VARIABLES];
  double activity[VARIABLES];
  uint32_t heap[VARIABLES], place[VARIABLES];
  bool waits[VARIABLES];
  clarke_solver s;
} order;

static void
begin(order *o)
{
  *o = (order){.s = {.n = VARIABLES, .step = 1}};
  o->s.value = o->value;
  o->s.activity = o->activity;
  o->s.heap = o->heap;
  o->s.heap_place = o->place;
  for (uint32_t v = 0; v < VARIABLES; v++)
    o->place[v] = UINT32_MAX;
}

/* The open one that waits and is largest, the first of equal ones; NO_CLAUSE: none. */
static uint32_t
largest(const order *o)
{
  uint32_t best = NO_CLAUSE;

  for (uint32_t v = 0; v < VARIABLES; v++)
    if (o->waits[v] && o->value[2 * v] == 0 && (best == NO_CLAUSE || o->activity[v] > o->activity[best]))
      best = v;
  return best;
}

/* Does what is taken before `taken` leave with it? Closed ones of more activity go, too. */
static void
leave(order *o, uint32_t taken)
{
  for (uint32_t v = 0; v < VARIABLES; v++)
    if (o->waits[v] && o->place[v] == UINT32_MAX) {
      ck_assert(v == taken || o->value[2 * v] != 0);
      o->waits[v] = false;
    }
}

START_TEST(against_all)
{
  uint64_t state = 1;
  order *o = malloc(sizeof *o);

  begin(o);
  for (int round = 0; round < 20000; round++) {
    const uint32_t v = (uint32_t)draw_below(&state, VARIABLES);

    switch (draw_below(&state, 4)) {
    case 0:
      clarke_order_put(&o->s, v);
      o->waits[v] = true;
      break;
    case 1:
      clarke_order_bump(&o->s, v);
      o->s.step *= 1.05;
      break;
    case 2:
      o->value[2 * v] = (signed char)draw_between(&state, -1, 1);
      o->value[2 * v + 1] = (signed char)-o->value[2 * v];
      break;
    default: {
      const uint32_t want = largest(o);

      ck_assert_uint_eq(clarke_order_take(&o->s), want);
      leave(o, want);
    }
    }
  }
  free(o);
}
END_TEST

/* Activities that grow without end are made smaller together: the order stays. */
START_TEST(stays_finite)
{
  order *o = malloc(sizeof *o);

  begin(o);
  o->s.step = 0x1p300;
  clarke_order_put(&o->s, 3);
  clarke_order_put(&o->s, 5);
  clarke_order_put(&o->s, 5); /* there already */
  for (int i = 0; i < 2000; i++) {
    clarke_order_bump(&o->s, 3);
    clarke_order_bump(&o->s, 5);
    o->s.step *= 2;
    ck_assert(o->activity[5] < 1e101 && o->activity[3] > 0);
  }
  clarke_order_bump(&o->s, 5);
  ck_assert_uint_eq(clarke_order_take(&o->s), 5);
  ck_assert_uint_eq(clarke_order_take(&o->s), 3);
  ck_assert_uint_eq(clarke_order_take(&o->s), NO_CLAUSE);
  ck_assert_int_eq(clarke_solver_literal(6), 4);
  ck_assert_int_eq(clarke_solver_literal(7), -4);
  free(o);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("order");

  tcase_add_test(tests, against_all);
  tcase_add_test(tests, stays_finite);
  return run_tests();
}
