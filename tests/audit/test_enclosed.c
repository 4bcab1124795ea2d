/* What follows a transcendental function is enclosed, and an enclosure that holds 0 says nothing: no direction is
 * taken to bring a touch to its side by it, and no vector to separate gradients. */
#include "../network/machine.h"

#include "audit/cell.h"
#include "audit/enumerate.h"
#include "audit/membership.h"
#include "network/graph/build.h"

static const char profile[] = "Relu 0 right\nClip 0 left\n";

/* relu(a s - b s), s = sigmoid(u x) computed twice, at a = b = 0: the argument is exactly 0. */
static void
draw_twins(clarke_model *m)
{
  double *u;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, 1,));
  u = model_floats(m, "U", SHAPE(1, 2,));
  u[0] = u[1] = 0.7;
  model_floats(m, "W", SHAPE(2, 1,));
  model_node(m, "MatMul", "x,U", "t");
  model_node(m, "Sigmoid", "t", "s");
  model_node(m, "MatMul", "s,W", "z");
  model_node(m, "Relu", "z", "y");
  model_output(m, "y");
}

/* relu(v h1) + clip(v h2, 0, inf) at v = 0, with h1 = sigmoid(2 u x) and h2 = (1 + tanh(u x)) / 2: one number, enclosed
 * twice. Only v is asked about. */
static void
draw_mirrored(clarke_model *m)
{
  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, 1,));
  model_floats(m, "U", SHAPE(1, 1,))[0] = 0.7;
  model_floats(m, "T", SHAPE(1, 1,))[0] = 0.35;
  model_floats(m, "half", SHAPE(1,))[0] = 0.5;
  model_floats(m, "v", SHAPE(1,));
  model_floats(m, "low", SHAPE());
  model_node(m, "MatMul", "x,U", "t1");
  model_node(m, "Sigmoid", "t1", "h1");
  model_node(m, "MatMul", "x,T", "t2");
  model_node(m, "Tanh", "t2", "tanh");
  model_node(m, "Mul", "tanh,half", "less");
  model_node(m, "Add", "less,half", "h2");
  model_node(m, "Mul", "h1,v", "z1");
  model_node(m, "Mul", "h2,v", "z2");
  model_node(m, "Relu", "z1", "y1");
  model_node(m, "Clip", "z2,low", "y2");
  model_node(m, "Add", "y1,y2", "y");
  model_output(m, "y");
}

typedef struct {
  clarke_model m;
  clarke_tensor x;
  clarke_profile profile;
  clarke_graph g;
  clarke_replay replay;
  clarke_question q;
} asked;

static void
ask(asked *a, void (*draw_model)(clarke_model *m), const char *wrt)
{
  char *name = strdup(wrt);

  memset(a, 0, sizeof *a);
  draw_model(&a->m);
  a->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1,));
  a->x.real[0] = 0.3;
  clarke_profile_init(&a->profile);
  clarke_graph_init(&a->g);
  clarke_replay_init(&a->replay);
  OK(clarke_profile_parse(&a->profile, profile, strlen(profile), "drawn", &error));
  OK(clarke_graph_build(&a->g, &a->m, &a->x, &error));
  OK(clarke_graph_wrt(&a->g, &name, 1, &error));
  OK(clarke_replay_run(&a->replay, NULL, &a->g, &a->x, false, 1, &error));
  OK(clarke_question_init(&a->q, &a->replay, &a->profile, &(clarke_loss){.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 1}, &error));
  ck_assert_uint_eq(a->replay.open, 0);
  free(name);
}

static void
asked_clear(asked *a)
{
  clarke_question_clear(&a->q);
  clarke_replay_clear(&a->replay);
  clarke_graph_clear(&a->g);
  clarke_profile_clear(&a->profile);
  clarke_tensor_clear(&a->x);
  clarke_model_clear(&a->m);
}

/* Does (first, second), moved in W, bring the touch to that side? */
static bool
leads_to(asked *a, clarke_branch side, long first, long second)
{
  clarke_cell c;
  clarke_direction *d;
  mpq_t coef;
  bool realized;

  clarke_cell_init(&c);
  OK(clarke_cell_set(&c, &a->q, &side, &error));
  ck_assert(!c.flat[0]);
  d = clarke_cell_direction(&c, &error);
  ck_assert_ptr_nonnull(d);
  mpq_init(coef);
  for (size_t e = 0; e < 2; e++) {
    mpq_set_si(coef, e == 0 ? first : second, 1);
    for (size_t p = 0; p < a->g.n_parameters; p++)
      if (a->g.parameters[p].wrt)
        OK(clarke_direction_move(d, CLARKE_MOVE_AT, p, e, coef, &error));
  }
  OK(clarke_cell_verify(&realized, CLARKE_NONE, &c, &a->q, &error));
  mpq_clear(coef);
  clarke_cell_clear(&c);
  return realized;
}

START_TEST(an_undecided_tangent_leads_nowhere)
{
  asked a;

  ask(&a, draw_twins, "W");
  ck_assert_uint_eq(a.replay.n_touches, 1);
  ck_assert(leads_to(&a, CLARKE_RIGHT, 1, 0));
  ck_assert(leads_to(&a, CLARKE_LEFT, -2, 1));
  ck_assert(!leads_to(&a, CLARKE_LEFT, 1, 0));
  ck_assert(!leads_to(&a, CLARKE_RIGHT, 1, -1));
  ck_assert(!leads_to(&a, CLARKE_LEFT, 1, -1));
  ck_assert(!leads_to(&a, CLARKE_PROXY, 1, 0)); /* no side, no limit */
  asked_clear(&a);
}
END_TEST

static clarke_hull_place
place_beside(asked *a, clarke_branch relu, clarke_branch clip)
{
  clarke_branch side[] = {relu, clip}, *const list[] = {side};
  clarke_membership m;
  clarke_hull_place place;

  clarke_membership_init(&m);
  OK(clarke_membership_find(&m, &a->q, list, 1, &error));
  place = m.place;
  clarke_membership_clear(&m, 1);
  return place;
}

/* AD takes Relu's right slope and Clip's left one: h1. The other mixed pattern has the gradient h2 = h1. */
START_TEST(no_separator_within_an_enclosure)
{
  asked a;

  ask(&a, draw_mirrored, "v");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  ck_assert_int_eq(a.q.touch[0].ad_side, CLARKE_RIGHT);
  ck_assert_int_eq(a.q.touch[1].ad_side, CLARKE_LEFT);
  ck_assert_int_eq(place_beside(&a, CLARKE_LEFT, CLARKE_LEFT), CLARKE_HULL_OUTSIDE);
  ck_assert_int_eq(place_beside(&a, CLARKE_RIGHT, CLARKE_RIGHT), CLARKE_HULL_OUTSIDE);
  ck_assert_int_eq(place_beside(&a, CLARKE_LEFT, CLARKE_RIGHT), CLARKE_HULL_UNKNOWN);
  asked_clear(&a);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("audit-enclosed");

  tcase_add_test(tcase, an_undecided_tangent_leads_nowhere);
  tcase_add_test(tcase, no_separator_within_an_enclosure);
  return run_tests();
}
