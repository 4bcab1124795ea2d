/* Rows of touches' conditions in networks that normalize, by the whole minibatch among others: along every
 * direction they are the derivative that forward mode gives. Flat arguments do not move at all. */
#include "../network/normalized.h"
#include "../network/compared.h"

#include "audit/degree.h"
#include "audit/touch_row.h"
#include "network/derive/tangent.h"

#define MOST_TOUCHES 12

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -9, 9) / 4;
}

/* The parameters' entries in the order of columns: the direction, and the matrices of forward mode. */
static double *
draw_moves(machine *k, uint64_t *state)
{
  const clarke_graph *g = &k->g;
  double *move = calloc(clarke_column_base(g, g->n_parameters) + 1, sizeof *move);

  for (size_t p = 0; p < g->n_parameters; p++) {
    double *at = move + clarke_column_base(g, p);

    for (size_t e = 0; e < g->parameters[p].count; e++)
      at[e] = g->parameters[p].statistic ? 0 : quarter(state);
    OK(clarke_matrix_set_doubles(&k->d[p], g->parameters[p].count, 1, at, &error));
  }
  return move;
}

static double
along(const clarke_row *row, const double *move)
{
  double sum = 0;

  for (size_t i = 0; i < row->n; i++)
    sum += mpq_get_d(row->value[i]) * move[row->column[i]];
  return sum;
}

/* The tangent of what the side asks to grow. */
static double
tangent_of(const machine *k, const clarke_touch *t, clarke_branch side, size_t condition)
{
  const clarke_matrix *m = &k->tangent[k->g.steps[t->step].in[0].value];

  if (m->rows == 0)
    return 0;
  if (t->n_options == 0)
    return side * clarke_matrix_get_double(m, t->feature, t->column);
  return clarke_matrix_get_double(m, t->option[CLARKE_OPTION_OF(side)], t->column) -
         clarke_matrix_get_double(m, t->option[condition], t->column);
}

typedef struct {
  size_t rows, flat, inexact;
} tally;

static void
check_touch(machine *k, clarke_columns *c, size_t number, clarke_branch side, bool flat, const double *move,
            tally *count)
{
  const clarke_touch *t = &k->replay.touch[number];

  for (size_t i = 0; i < clarke_touch_conditions(t); i++) {
    double expected = tangent_of(k, t, side, i), found;
    clarke_row row;
    bool exact;

    if (t->n_options > 0 && CLARKE_OPTION(i) == side)
      continue;
    clarke_row_init(&row);
    OK(clarke_touch_row(&row, &exact, c, number, side, i, false, &error));
    found = c->divided * along(&row, move);
    ck_assert_msg(fabs(found - expected) <= 1e-9 * (1 + fabs(expected)),
                  "touch %zu, condition %zu: %.17g, expected %.17g", number, i, found, expected);
    ck_assert(!flat || expected == 0);
    count->rows++;
    count->flat += flat;
    count->inexact += !exact;
    clarke_row_clear(&row);
  }
}

static void
check_touches(machine *k, uint64_t *state, tally *count)
{
  size_t n = k->replay.n_touches;
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = k->replay.samples};
  clarke_question q;
  clarke_columns c;
  clarke_branch *side = calloc(n + 1, sizeof *side);
  bool *flat = calloc(n + 1, sizeof *flat);
  double *move = draw_moves(k, state);

  OK(clarke_question_init(&q, &k->replay, &k->profile, &loss, &error));
  for (size_t i = 0; i < n; i++)
    side[i] = k->replay.touch[i].n_options > 0 ? CLARKE_OPTION(draw_below(state, k->replay.touch[i].n_options))
              : draw_below(state, 2)           ? CLARKE_RIGHT
                                               : CLARKE_LEFT;
  OK(clarke_flat(flat, &q, side, &error));
  OK(clarke_columns_init(&c, &q, side, &error));
  OK(clarke_tangent_run(k->tangent, &k->replay.near, &c.slopes, k->d, &error));
  for (size_t i = 0; i < n && i < MOST_TOUCHES; i++)
    check_touch(k, &c, i, side[i], flat[i], move, count);
  clarke_columns_clear(&c);
  clarke_question_clear(&q);
  free(side);
  free(flat);
  free(move);
}

START_TEST(rows_are_derivatives)
{
  uint64_t state = 91;
  size_t coupled = 0;
  tally count = {0, 0, 0};

  for (size_t i = 0; i < 400; i++) {
    growing grown;
    clarke_tensor x;
    machine k;

    grow_normalized(&grown, &state, i % 2 ? small_number : quarter);
    x = grow_batch(&grown, 1 + draw_below(&state, 4));
    machine_begin(&k, &grown.m, &x, profile_with("first"), draw_below(&state, 2));
    if (k.replay.n_touches > 0 && k.replay.open == 0) {
      coupled += clarke_graph_couples(&k.g);
      ck_assert(!clarke_graph_couples(&k.g) || k.replay.near.n == k.replay.samples);
      check_touches(&k, &state, &count);
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("%zu rows, %zu of them flat, %zu enclosed; %zu coupled networks\n", count.rows, count.flat,
         count.inexact, coupled);
  ck_assert_uint_gt(count.rows, 400);
  ck_assert_uint_gt(count.inexact, 100);
  ck_assert_uint_gt(count.flat, 100);
  ck_assert_uint_gt(coupled, 30);
}
END_TEST

/* The middle one of three entries is their mean, and touched behind the normalization. Moved in the weights it goes 1 up
 * and 1 down against the mean, divided by the root of the variance 2/3 and epsilon: the other samples count. */
START_TEST(the_mean_is_of_all_samples)
{
  static const double samples[] = {1, 0, 3, -1, 2, 1};
  const double root = sqrt(2.0 / 3 + 1.0 / 3);
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(3, 2,));
  clarke_columns c;
  clarke_question q;
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = 3};
  clarke_row row;
  clarke_model_node *norm;
  clarke_branch side = CLARKE_RIGHT;
  bool exact;
  machine k;

  memcpy(x.real, samples, sizeof samples);
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 2,));
  memcpy(model_floats(&m, "w", SHAPE(2, 1,)), (const double[]){1, 1}, 2 * sizeof(double));
  model_floats(&m, "s", SHAPE(1,))[0] = 1;
  model_floats(&m, "b", SHAPE(1,))[0] = 0;
  model_floats(&m, "mean", SHAPE(1,))[0] = 0;
  model_floats(&m, "var", SHAPE(1,))[0] = 1;
  model_node(&m, "MatMul", "x,w", "z");
  norm = model_node(&m, "BatchNormalization", "z,s,b,mean,var", "n");
  attr_int(norm, "training_mode", 1);
  attr_float(norm, "epsilon", 1.0f / 3);
  model_node(&m, "Relu", "n", "out");
  model_output(&m, "out");
  machine_begin(&k, &m, &x, profile_with("first"), false);
  ck_assert_uint_eq(k.replay.n_touches, 1);
  ck_assert_uint_eq(k.replay.touch[0].sample, 1);
  OK(clarke_question_init(&q, &k.replay, &k.profile, &loss, &error));
  OK(clarke_columns_init(&c, &q, &side, &error));
  clarke_row_init(&row);
  OK(clarke_touch_row(&row, &exact, &c, 0, side, 0, false, &error));
  for (size_t e = 0; e < 2; e++)
    ck_assert_double_eq_tol(along(&row, e == 0 ? (const double[]){1, 0, 0, 0, 0, 0} : (const double[]){0, 1, 0, 0, 0, 0}),
                            e == 0 ? 1 / root : -1 / root, 1e-6);
  clarke_row_clear(&row);
  clarke_columns_clear(&c);
  clarke_question_clear(&q);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("coupled");

  tcase_add_test(tcase, rows_are_derivatives);
  tcase_add_test(tcase, the_mean_is_of_all_samples);
  return run_tests();
}
