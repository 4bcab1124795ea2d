/* Entries of linear steps as products, beside the exact pass; numbers that cancel but for a root, and some that do not. */
#include "../ok.h"
#include "models.h"

#include "network/graph/build.h"
#include "network/pass/combination.h"
#include "network/pass/combination/combination.h"
#include "network/graph/product.h"
#include "network/replay/replay.h"

/* A model that holds linear steps and an InstanceNormalization over three entries, and a kink that keeps the pass. */
typedef struct {
  clarke_graph g;
  clarke_replay replay;
  clarke_tensor x;
  double entry[6];
} passed;

/* x: two channels of three entries. Conv gives x[0] + x[1] + shift and 2 x[0] - x[1] + shift. */
static void
pass_begin(passed *p, const double *x)
{
  static const double kernel[] = {1, 1, 2, -1};
  clarke_model m;

  memcpy(p->entry, x, sizeof p->entry);
  p->x = (clarke_tensor){.name = "x", .dtype = CLARKE_F32, .rank = 3, .dims = {1, 2, 3}, .count = 6, .real = p->entry};
  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 2, 3,));
  memcpy(model_floats(&m, "K", SHAPE(2, 2, 1,)), kernel, sizeof kernel);
  model_floats(&m, "B", SHAPE(2,))[0] = 0.5;
  model_node(&m, "Conv", "x,K,B", "c");
  model_floats(&m, "S", SHAPE(2,))[0] = 3;
  m.tensors[2].real[1] = -2;
  model_floats(&m, "T", SHAPE(2,))[0] = 1;
  attr_float(model_node(&m, "InstanceNormalization", "c,S,T", "n"), "epsilon", 0.25);
  model_node(&m, "Relu", "n", "z");
  model_output(&m, "z");
  clarke_graph_init(&p->g);
  clarke_replay_init(&p->replay);
  OK(clarke_graph_build(&p->g, &m, &p->x, &error));
  OK(clarke_graph_wrt(&p->g, NULL, 0, &error));
  OK(clarke_replay_run(&p->replay, NULL, &p->g, &p->x, true, 1, &error));
  clarke_model_clear(&m);
}

static void
pass_end(passed *p)
{
  clarke_replay_clear(&p->replay);
  clarke_graph_clear(&p->g);
}

static bool
is_linear(const clarke_step *s)
{
  return s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_DENSE || (s->kind == CLARKE_SCALE && !s->root);
}

/* The sum of the products of one entry. */
static double
sum_of(const clarke_product *list, size_t n, const passed *p)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++) {
    const clarke_product *t = &list[i];

    sum += t->coef * (t->c != CLARKE_NONE ? p->g.values[t->c].real[t->c_entry] : 1) *
           (t->x != CLARKE_NONE ? clarke_matrix_get_double(&p->replay.near.value[t->x], t->x_entry, 0) : 1);
  }
  return sum;
}

START_TEST(products_add_up_to_entries)
{
  size_t seen[CLARKE_MAX + 1] = {0};
  passed p;

  pass_begin(&p, (const double[]){1, 2, -3, 0.5, 4, 0});
  for (size_t i = 0; i < p.g.n_steps; i++) {
    const clarke_step *s = &p.g.steps[i];
    clarke_product list[16];

    if (!is_linear(s))
      continue;
    ck_assert_uint_le(clarke_step_products_most(s), 16);
    for (size_t f = 0; f < p.g.values[s->out].count; f++) {
      const size_t n = clarke_step_products(list, &p.g, s, f);

      ck_assert_uint_le(n, clarke_step_products_most(s));
      ck_assert_double_eq_tol(sum_of(list, n, &p), clarke_matrix_get_double(&p.replay.near.value[s->out], f, 0), 1e-12);
      seen[s->kind]++;
    }
  }
  ck_assert(seen[CLARKE_DENSE] > 0 && seen[CLARKE_SCALE] > 0 && seen[CLARKE_SUM] > 0);
  pass_end(&p);
}
END_TEST

/* Of channel 0: x[0] + x[1] is 1, 1 (or 1 + 2^-30) and 3, normalized over an irrational root; T adds 1. */
START_TEST(equal_numerators_cancel)
{
  for (int near = 0; near < 2; near++) {
    passed p;
    size_t value;
    mpq_t one;

    pass_begin(&p, (const double[]){1, near ? 0x1p-30 : 0, 1, 0, 1, 2});
    value = p.g.steps[p.g.n_steps - 1].in[0].value;
    ck_assert(clarke_matrix_radius(&p.replay.near.value[value], 0, 0) > 0);
    ck_assert(clarke_cancels(&p.replay.near, value, 0, 1, NULL, 0) == !near);
    ck_assert(!clarke_cancels(&p.replay.near, value, 0, 2, NULL, 0));
    mpq_init(one);
    mpq_set_ui(one, 1, 1);
    ck_assert(!clarke_cancels(&p.replay.near, value, 0, CLARKE_NONE, one, 0));
    mpq_clear(one);
    pass_end(&p);
  }
}
END_TEST

/* x[0] + x[1] of 0, 1, -1: the first is its mean, so it is T alone. */
START_TEST(a_number_less_itself_is_zero)
{
  passed p;
  size_t value;
  mpq_t q;

  pass_begin(&p, (const double[]){0, 1, -1, 0, 0, 0});
  value = p.g.steps[p.g.n_steps - 1].in[0].value;
  mpq_init(q);
  mpq_set_ui(q, 1, 1);
  ck_assert(clarke_cancels(&p.replay.near, value, 0, CLARKE_NONE, q, 0));
  ck_assert(!clarke_cancels(&p.replay.near, value, 1, CLARKE_NONE, q, 0));
  mpq_set_ui(q, 0, 1);
  ck_assert(!clarke_cancels(&p.replay.near, value, 0, CLARKE_NONE, q, 0));
  mpq_clear(q);
  pass_end(&p);
}
END_TEST

/* Does the way end, whatever the number it ends with? */
START_TEST(ways_end_at_exact_entries)
{
  passed p;
  size_t value;
  bool ends;
  mpq_t q;

  pass_begin(&p, (const double[]){1, 0x1p-30, 1, 0, 1, 2});
  mpq_init(q);
  value = p.g.steps[p.g.n_steps - 1].in[0].value;
  OK(clarke_reduce(&ends, &(clarke_reduction){.f = &p.replay.near}, value, 0, 1, NULL, 0, &error));
  ck_assert(ends); /* 2^-30 over the root, which is left out */
  mpq_set_ui(q, 1, 1);
  OK(clarke_reduce(&ends, &(clarke_reduction){.f = &p.replay.near}, value, 0, CLARKE_NONE, q, 0, &error));
  ck_assert(ends); /* less T, that is */
  mpq_set_ui(q, 2, 1);
  OK(clarke_reduce(&ends, &(clarke_reduction){.f = &p.replay.near}, value, 0, CLARKE_NONE, q, 0, &error));
  ck_assert(!ends); /* a number beside the root */
  mpq_clear(q);
  pass_end(&p);
}
END_TEST

/* --- the combination itself --- */

static void
combine(clarke_combination *c, const clarke_reduction *r, size_t column)
{
  memset(c, 0, sizeof *c);
  mpq_inits(c->number, c->scratch, NULL);
  c->r = r;
  c->g = r->f->g;
  c->n = 1;
  c->column = column;
  c->of = calloc(c->g->n_values + 1, sizeof *c->of);
  c->size = calloc(c->g->n_values + 1, sizeof *c->size);
}

static void
forget(clarke_combination *c)
{
  for (size_t v = 0; v < c->g->n_values; v++) {
    for (size_t e = 0; e < c->size[v]; e++)
      mpq_clear(c->of[v][e]);
    free(c->of[v]);
  }
  free(c->of);
  free(c->size);
  mpq_clears(c->number, c->scratch, NULL);
}

/* The number that it is, entry by entry, the step's own left out. */
static void
worth(mpq_t sum, clarke_combination *c, size_t without)
{
  mpq_t x;

  mpq_init(x);
  mpq_set(sum, c->number);
  for (size_t v = 0; v < c->g->n_values; v++)
    for (size_t e = 0; e < c->size[v] && v != without; e++) {
      double radius = -1;

      clarke_combination_value(x, &radius, c, v, e);
      ck_assert(radius == 0);
      clarke_combination_add(c, sum, c->of[v][e], x);
    }
  mpq_clear(x);
}

/* Of linear steps the combination of what they are made of is worth what their entries are. */
START_TEST(products_replace_entries)
{
  size_t steps = 0;
  mpq_t before, after;
  passed p;

  mpq_inits(before, after, NULL);
  pass_begin(&p, (const double[]){1, 2, -3, 0.5, 4, 0});
  for (size_t i = 0; i < p.g.n_steps; i++) {
    const clarke_step *s = &p.g.steps[i];
    const clarke_reduction r = {.f = &p.replay.near};
    clarke_progress found;
    clarke_combination c;

    if (!is_linear(s) || p.replay.near.value[s->out].radius != NULL)
      continue;
    combine(&c, &r, 0);
    for (size_t e = 0; e < p.g.values[s->out].count; e++)
      mpq_set_si(clarke_combination_at(&c, s->out, e), (long)e - 2, 3);
    for (size_t e = 0; e < p.g.values[s->out].count; e++)
      mpq_canonicalize(clarke_combination_at(&c, s->out, e));
    ck_assert(clarke_combination_only_at(&c, s->out) && !c.failed && c.all == p.g.values[s->out].count);
    worth(before, &c, CLARKE_NONE);
    OK(clarke_combination_products(&found, &c, s, &error));
    ck_assert_int_eq(found, CLARKE_WAY_ON);
    ck_assert(!clarke_combination_only_at(&c, s->out)); /* what it is made of is there, too */
    worth(after, &c, s->out);
    ck_assert(mpq_equal(before, after));
    steps++;
    forget(&c);
  }
  ck_assert_uint_gt(steps, 0);
  pass_end(&p);
  mpq_clears(before, after, NULL);
}
END_TEST

/* Entries lie feature by feature, over the columns of a pass; of samples that are not coupled in one column alone. */
START_TEST(entries_have_columns_and_places)
{
  clarke_forward f = {.n = 4};
  const clarke_reduction r = {.f = &f};
  clarke_combination c = {.r = &r, .n = 1, .column = 3};

  for (size_t e = 0; e < 12; e++) {
    c.n = 1;
    ck_assert(clarke_combination_column(&c, e) == 3 && clarke_combination_place(&c, e) == e * 4 + 3);
    c.n = 4;
    ck_assert(clarke_combination_column(&c, e) == e % 4 && clarke_combination_place(&c, e) == e);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("combination");

  tcase_add_test(tests, products_add_up_to_entries);
  tcase_add_test(tests, equal_numerators_cancel);
  tcase_add_test(tests, a_number_less_itself_is_zero);
  tcase_add_test(tests, ways_end_at_exact_entries);
  tcase_add_test(tests, products_replace_entries);
  tcase_add_test(tests, entries_have_columns_and_places);
  return run_tests();
}
