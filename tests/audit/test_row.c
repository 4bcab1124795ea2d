/* Rows of touches' conditions, made over the few entries they meet, beside the pass in matrices. */
#include "asked.h"

#include "audit/system.h"
#include "audit/touch_row.h"
#include "network/graph/build.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_TOUCHES 150

/* A case of the shipped ones, up to the question. */
typedef struct {
  clarke_file model_file, batch_file;
  clarke_graph graph;
  clarke_tensors batch;
  clarke_profile profile;
  clarke_replay replay;
  clarke_question question;
} shipped;

static void
open_case(shipped *s, const char *model, const char *batch)
{
  clarke_loss loss = {.kind = CLARKE_LOSS_CE, .y = NULL, .samples = 0};
  clarke_model m;
  char path[512];
  bool stored;

  clarke_graph_init(&s->graph);
  clarke_tensors_init(&s->batch);
  clarke_profile_init(&s->profile);
  clarke_replay_init(&s->replay);
  clarke_model_init(&m);
  snprintf(path, sizeof path, "%s/%s.npz", CASES, batch);
  OK(clarke_file_read(&s->batch_file, path, &error));
  OK(clarke_npz_parse(&s->batch, &stored, s->batch_file.data, s->batch_file.size, batch, &error));
  snprintf(path, sizeof path, "%s/%s.onnx", CASES, model);
  OK(clarke_file_read(&s->model_file, path, &error));
  OK(clarke_onnx_parse(&m, s->model_file.data, s->model_file.size, model, &error));
  OK(clarke_graph_build(&s->graph, &m, clarke_tensors_find(&s->batch, "x"), &error));
  clarke_model_clear(&m);
  OK(clarke_graph_wrt(&s->graph, NULL, 0, &error));
  OK(clarke_profile_load(&s->profile, "pytorch-2.13", &error));
  OK(clarke_replay_run(&s->replay, NULL, &s->graph, clarke_tensors_find(&s->batch, "x"), false, 1,
                       &error));
  loss.y = clarke_tensors_find(&s->batch, "y");
  loss.samples = s->replay.samples;
  if (loss.y->integer == NULL)
    loss.kind = CLARKE_LOSS_MSE;
  OK(clarke_question_init(&s->question, &s->replay, &s->profile, &loss, &error));
}

static void
close_case(shipped *s)
{
  clarke_question_clear(&s->question);
  clarke_replay_clear(&s->replay);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
  clarke_tensors_clear(&s->batch);
  clarke_file_clear(&s->model_file);
  clarke_file_clear(&s->batch_file);
}

typedef struct {
  clarke_row *row;
  const clarke_graph *g;
} receiver;

static clarke_status
receive(void *context, size_t parameter, size_t entry, const mpq_t value, clarke_error *err)
{
  receiver *r = context;

  return clarke_row_add(r->row, clarke_column_base(r->g, parameter) + entry, value, err);
}

/* The definition: reverse mode over whole columns, seeded at the argument, or at two options. */
static void
by_matrices(clarke_row *row, clarke_columns *c, const clarke_touch *t, clarke_branch side, size_t condition,
            bool segment)
{
  const clarke_graph *g = c->q->g;
  const size_t in = g->steps[t->step].in[0].value;
  clarke_matrix *grad = malloc(g->n_values * sizeof *grad);
  receiver r = {row, g};
  clarke_emitter emitter = {receive, &r};

  for (size_t v = 0; v < g->n_values; v++)
    clarke_matrix_init(&grad[v]);
  OK(clarke_matrix_resize(&grad[in], g->values[in].count, 1, 1, &error));
  if (t->n_options == 0)
    grad[in].word[t->feature] = side > 0 ? 1 : UINT64_MAX;
  else {
    grad[in].word[t->option[CLARKE_OPTION_OF(side)]] = 1;
    grad[in].word[t->option[condition]] = UINT64_MAX;
  }
  OK(clarke_reverse_run(grad, &c->forward, &c->slope,
                        segment ? t->step : CLARKE_NONE, clarke_emit_sink, &emitter, &error));
  clarke_row_finish(row);
  for (size_t v = 0; v < g->n_values; v++)
    clarke_matrix_clear(&grad[v]);
  free(grad);
}

static void
compare(clarke_columns *c, size_t k, clarke_branch side, size_t condition, bool segment)
{
  const clarke_touch *t = &c->q->replay->touch[k];
  clarke_row sparse, whole;
  bool exact;

  clarke_row_init(&sparse);
  clarke_row_init(&whole);
  OK(clarke_touch_row(&sparse, &exact, c, k, side, condition, segment, &error));
  by_matrices(&whole, c, t, side, condition, segment);
  ck_assert_uint_eq(sparse.n, whole.n);
  for (size_t i = 0; i < sparse.n; i++) {
    const double x = c->divided * mpq_get_d(sparse.value[i]), y = mpq_get_d(whole.value[i]);

    ck_assert_uint_eq(sparse.column[i], whole.column[i]);
    ck_assert(c->divided == 1 || (exact && sparse.n == 1));
    ck_assert_msg(exact && c->divided == 1 ? mpq_equal(sparse.value[i], whole.value[i]) : fabs(x - y) < 1e-9 * fabs(y),
                  "touch %zu, entry %zu: %g, not %g", k, i, x, y);
  }
  clarke_row_clear(&sparse);
  clarke_row_clear(&whole);
}

/* The sparse pass alone: where it goes to the end, its terms are those of the matrices. */
static bool
compare_sparse(clarke_sparse *w, clarke_columns *c, size_t k, clarke_branch side, size_t condition, bool segment)
{
  const clarke_graph *g = c->q->g;
  const clarke_touch *t = &c->q->replay->touch[k];
  const size_t last = t->n_options > 0;
  clarke_sparse_seed seed = {g->steps[t->step].in[0].value, 1 + last, segment ? t->step : CLARKE_NONE, {t->feature, 0}, {side, -1}};
  clarke_row sparse, whole;
  receiver r = {&sparse, g};
  const clarke_emitter emitter = {receive, &r};
  bool known;

  clarke_row_init(&sparse);
  clarke_row_init(&whole);
  if (t->n_options > 0) {
    seed.sign[0] = 1;
    seed.entry[0] = t->option[CLARKE_OPTION_OF(side)];
    seed.entry[1] = t->option[condition];
  }
  OK(clarke_sparse_run(&known, w, &seed, &c->forward, &c->slope, &emitter, &error));
  if (known) {
    clarke_row_finish(&sparse);
    by_matrices(&whole, c, t, side, condition, segment);
    ck_assert_uint_eq(sparse.n, whole.n);
    for (size_t i = 0; i < sparse.n; i++) {
      const double x = mpq_get_d(sparse.value[i]), y = mpq_get_d(whole.value[i]);

      ck_assert_uint_eq(sparse.column[i], whole.column[i]);
      ck_assert(w->enclosed || w->vague ? fabs(x - y) <= 1e-9 * fabs(y) : mpq_equal(sparse.value[i], whole.value[i]) != 0);
    }
  }
  clarke_row_clear(&sparse);
  clarke_row_clear(&whole);
  return known;
}

static const struct {
  const char *model, *batch;
} cases[] = {
  {"digits-relu-q", "digits"}, {"digits-prelu-q", "digits-mse"}, {"digits-sigmoid-relu", "digits"},
  {"lenet-q", "images"}, {"lenet-ternary", "images-binary"}, {"lenet-overlap-q", "images"},
  {"resnet-pool-gamma", "images"}, {"resnet-gamma-beta", "images"},
};

static uint64_t state = 11;

static size_t
below(size_t n)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(state >> 33) % n;
}

#define ROWS 8
#define COLUMNS 6

/* The first row that can be reached by shared columns, by the definition. */
static size_t
first_reached(bool has[ROWS][COLUMNS], size_t from)
{
  bool in[ROWS] = {false};
  size_t first = 0;

  in[from] = true;
  for (size_t round = 0; round < ROWS; round++)
    for (size_t a = 0; a < ROWS; a++)
      for (size_t b = 0; b < ROWS; b++)
        for (size_t c = 0; c < COLUMNS; c++)
          in[b] = in[b] || (in[a] && has[a][c] && has[b][c]);
  while (!in[first])
    first++;
  return first;
}

START_TEST(blocks_are_known_by_their_first_rows)
{
  size_t block[ROWS], later = 0;
  mpq_t one;

  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  for (size_t k = 0; k < 2000; k++) {
    bool has[ROWS][COLUMNS] = {{false}};
    clarke_row row[ROWS];

    for (size_t i = 0; i < ROWS; i++) {
      clarke_row_init(&row[i]);
      for (size_t n = below(3); n > 0; n--)
        has[i][below(COLUMNS)] = true;
      for (size_t c = 0; c < COLUMNS; c++)
        if (has[i][c])
          OK(clarke_row_add(&row[i], c, one, &error));
      clarke_row_finish(&row[i]);
    }
    OK(clarke_system_blocks(block, row, ROWS, &error));
    for (size_t i = 0; i < ROWS; i++) {
      ck_assert_uint_eq(block[i], first_reached(has, i));
      later += block[i] < i;
      clarke_row_clear(&row[i]);
    }
  }
  mpq_clear(one);
  ck_assert_uint_gt(later, 1000);
}
END_TEST

START_TEST(rows)
{
  shipped s = {0};
  clarke_columns c;
  clarke_sparse w;
  clarke_branch *side;
  size_t n, stride, known = 0;

  open_case(&s, cases[_i].model, cases[_i].batch);
  n = s.replay.n_touches;
  stride = n / MOST_TOUCHES + 1;
  ck_assert_uint_gt(n, 0);
  side = malloc(n * sizeof *side);
  for (size_t k = 0; k < n; k++)
    side[k] = s.question.touch[k].ad_side != CLARKE_PROXY  ? s.question.touch[k].ad_side
              : s.replay.touch[k].n_options > 0 ? CLARKE_OPTION(0) : CLARKE_LEFT;
  OK(clarke_columns_init(&c, &s.question, side, &error));
  clarke_sparse_init(&w);
  for (size_t k = 0; k < n; k += stride)
    for (size_t i = 0; i < clarke_touch_conditions(&s.replay.touch[k]); i++)
      if (s.replay.touch[k].n_options == 0 || CLARKE_OPTION(i) != side[k]) {
        compare(&c, k, side[k], i, true);
        compare(&c, k, side[k], i, false);
        known += compare_sparse(&w, &c, k, side[k], i, true);
        known += compare_sparse(&w, &c, k, side[k], i, false);
      }
  ck_assert_uint_gt(known, 0);
  clarke_sparse_clear(&w);
  clarke_columns_clear(&c);
  free(side);
  close_case(&s);
}
END_TEST

/* -3 (x w - b) + mean: factors that are not 1 on the way to weights and to a bias. */
START_TEST(factors_on_the_way_count)
{
  clarke_columns c;
  clarke_sparse w;
  clarke_branch side[2] = {CLARKE_RIGHT, CLARKE_LEFT};
  asked a;

  asked_begin(&a, 2, 2, NUMBERS(1, 2, -1, 3));
  a.profile = "Relu 0 0\n";
  weight(&a, "w", SHAPE(2, 1,), NUMBERS(2, -1));
  weight(&a, "b", SHAPE(1,), NUMBERS(0));
  weight(&a, "v", SHAPE(1, 1,), NUMBERS(-3));
  weight(&a, "d", SHAPE(1,), NUMBERS(0));
  node(&a, "MatMul", "x,w", "p");
  node(&a, "Sub", "b,p", "q");
  node(&a, "MatMul", "q,v", "r");
  node(&a, "Sub", "r,d", "s");
  node(&a, "Relu", "s", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 1);
  OK(clarke_columns_init(&c, &a.question, side, &error));
  clarke_sparse_init(&w);
  compare(&c, 0, CLARKE_RIGHT, 0, false);
  ck_assert(compare_sparse(&w, &c, 0, CLARKE_RIGHT, 0, false));
  ck_assert(compare_sparse(&w, &c, 0, CLARKE_LEFT, 0, false) && !w.vague && !w.enclosed);
  clarke_sparse_clear(&w);
  clarke_columns_clear(&c);
  asked_end(&a);
}
END_TEST

/* A chain of rows is one block, with more entries than are tried: then nothing is said, whatever the other blocks say. */
START_TEST(a_block_past_the_limit_is_unknown)
{
  const size_t n = 4200;
  clarke_parameter weight = {.count = n + 3, .wrt = true};
  clarke_graph g = {.n_parameters = 1, .parameters = &weight};
  clarke_row *row = malloc((n + 1) * sizeof *row);
  mpq_t *u = malloc((n + 1) * sizeof *u), one;
  clarke_cone_answer answer;
  clarke_direction d;

  ck_assert_uint_gt(n * (n + 1), CLARKE_SYSTEM_LIMIT);
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  clarke_direction_init(&d);
  for (size_t i = 0; i <= n; i++) {
    mpq_init(u[i]);
    clarke_row_init(&row[i]);
    OK(clarke_row_add(&row[i], i < n ? i : n + 2, one, &error));
    if (i < n)
      OK(clarke_row_add(&row[i], i + 1, one, &error));
    clarke_row_finish(&row[i]);
  }
  OK(clarke_system_solve(&answer, &d, u, row, n + 1, &g, &error));
  ck_assert_int_eq(answer, CLARKE_CONE_UNKNOWN);
  OK(clarke_system_solve(&answer, &d, u, row, 3, &g, &error));
  ck_assert_int_eq(answer, CLARKE_CONE_FEASIBLE);
  for (size_t i = 0; i <= n; i++) {
    mpq_clear(u[i]);
    clarke_row_clear(&row[i]);
  }
  clarke_direction_clear(&d);
  mpq_clear(one);
  free(row);
  free(u);
}
END_TEST

/* A row among a matrix's own columns, and among few: every entry times the least common denominator, 6. */
START_TEST(rows_are_put_whole)
{
  static const size_t few[] = {1, 3, 4};
  const slong expected[2][5] = {{0, 3, 0, 0, -4}, {3, 0, -4, 0, 0}};
  clarke_row row;
  mpq_t value;

  clarke_row_init(&row);
  mpq_init(value);
  mpq_set_si(value, -2, 3);
  OK(clarke_row_add(&row, 4, value, &error));
  mpq_set_si(value, 1, 2);
  OK(clarke_row_add(&row, 1, value, &error));
  clarke_row_finish(&row);
  for (int among = 0; among < 2; among++) {
    fmpz_mat_t a;

    fmpz_mat_init(a, 2, 5);
    clarke_row_put(a, 1, &row, among ? few : NULL);
    for (slong j = 0; j < 5; j++)
      ck_assert(fmpz_is_zero(fmpz_mat_entry(a, 0, j)) && fmpz_equal_si(fmpz_mat_entry(a, 1, j), expected[among][j]));
    fmpz_mat_clear(a);
  }
  mpq_clear(value);
  clarke_row_clear(&row);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("row");

  tcase_add_test(tests, a_block_past_the_limit_is_unknown);
  tcase_add_test(tests, blocks_are_known_by_their_first_rows);
  tcase_add_test(tests, factors_on_the_way_count);
  tcase_add_test(tests, rows_are_put_whole);
  tcase_add_loop_test(tests, rows, 0, (int)(sizeof cases / sizeof cases[0]));
  return run_tests();
}
