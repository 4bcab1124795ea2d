/* What activations see of the input: what another input changes, they see; and of windows by hand, exactly what the formula says. */
#include "drawn_pass.h"
#include "normalized.h"

#include "network/graph/field.h"

/* Surely another number in b's pass than in a's? */
static bool
differs(const clarke_matrix *a, const clarke_matrix *b, size_t f, size_t j)
{
  const double off = clarke_matrix_radius(a, f, j) + clarke_matrix_radius(b, f, j);
  mpq_t p, q, r;
  bool more;

  mpq_inits(p, q, r, NULL);
  clarke_matrix_get(p, a, f, j);
  clarke_matrix_get(q, b, f, j);
  mpq_sub(p, p, q);
  mpq_abs(p, p);
  if (isfinite(off))
    mpq_set_d(r, off);
  more = isfinite(off) && mpq_cmp(p, r) > 0;
  mpq_clears(p, q, r, NULL);
  return more;
}

/* Of sample j, whose entry e is another in b. How many entries differ. */
static size_t
check_seen(const machine *a, const machine *b, size_t e, size_t j)
{
  const clarke_graph *g = &a->g;
  bool *reach = calloc(g->values[g->input].count + 1, sizeof *reach), whole;
  size_t changed = 0, work = SIZE_MAX;

  for (size_t v = 0; v < g->n_values; v++)
    for (size_t f = 0; !g->values[v].constant && a->pass.value[v].rows > 0 && f < g->values[v].count; f++) {
      if (!differs(&a->pass.value[v], &b->pass.value[v], f, j))
        continue;
      OK(clarke_field_find(reach, &whole, &work, g, v, f, &error));
      ck_assert_msg(whole && reach[e], "%s, entry %zu, does not see entry %zu of the input", g->values[v].name, f, e);
      changed++;
    }
  free(reach);
  return changed;
}

static clarke_tensor
draw_any(growing *g, uint64_t *state, size_t i)
{
  if (i % 3 == 0)
    return grow_network(g, state, small_number, 2 + draw_below(state, 8), i % 2 == 0);
  if (i % 3 == 1)
    grow_convolutional(g, state, small_number);
  else
    grow_normalized(g, state, small_number);
  return grow_batch(g, 1 + draw_below(state, 3));
}

START_TEST(what_changes_is_seen)
{
  uint64_t state = 38;
  size_t changed = 0;

  for (size_t i = 0; i < 150; i++) {
    growing grown;
    clarke_tensor x = draw_any(&grown, &state, i);
    machine before, after;
    const size_t e = draw_below(&state, x.count);

    machine_begin(&before, &grown.m, &x, profile_text, false);
    x.real[e] += 1 + (double)draw_below(&state, 5);
    machine_begin(&after, &grown.m, &x, profile_text, false);
    changed += check_seen(&before, &after, e % (x.count / x.dims[0]), e / (x.count / x.dims[0]));
    machine_end(&after);
    machine_end(&before);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  ck_assert_msg(changed > 1000, "%zu", changed);
}
END_TEST

/* --- by hand ----------------------------------------------------------------------------------- */

/* Two convolutions of 3 x 3, the second with stride 2, and a pool of 2 x 2: an entry sees 3 + 2 + 2 rows; the jumps are 1, 2, 4. */
static clarke_tensor
three_windows(growing *g, uint64_t *state)
{
  drawn_window w = {.axes = 2, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .before = {1, 1}, .after = {1, 1}};
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2, 1, 16, 16,));
  clarke_model_node *pool;

  memset(g, 0, sizeof *g);
  g->state = state;
  g->number = small_number;
  g->rank = 3;
  g->dims[0] = 1;
  g->dims[1] = g->dims[2] = 16;
  model_begin(&g->m, 16);
  model_input(&g->m, "x", SHAPE(-1, 1, 16, 16,));
  strcpy(g->at, "x");
  grow_conv_of(g, &w, 2);
  w.stride[0] = w.stride[1] = 2;
  grow_conv_of(g, &w, 3);
  pool = grow_node(g, "MaxPool", NULL, false);
  attr_list(pool, "kernel_shape", 2, (const long[]){2, 2}, NULL);
  attr_list(pool, "strides", 2, (const long[]){2, 2}, NULL);
  model_output(&g->m, g->at);
  for (size_t e = 0; e < x.count; e++)
    x.real[e] = small_number(state);
  return x;
}

/* Rows 4 i - 2 to 4 i + 4 of an entry in row i of the pool, as far as the picture goes; columns likewise; whatever the weights. */
static bool
formula(size_t at, size_t row)
{
  const long first = 4 * (long)at - 2;

  return (long)row >= first && (long)row <= first + 6;
}

START_TEST(windows_one_behind_another)
{
  uint64_t state = 7;
  growing grown;
  clarke_tensor x = three_windows(&grown, &state);
  bool reach[256], whole;
  machine k;

  machine_begin(&k, &grown.m, &x, profile_text, false);
  ck_assert_uint_eq(k.g.values[k.g.output].count, 3 * 4 * 4);
  for (size_t f = 0; f < 48; f++) {
    size_t work = 100000;

    OK(clarke_field_find(reach, &whole, &work, &k.g, k.g.output, f, &error));
    ck_assert(whole && work < 100000);
    for (size_t e = 0; e < 256; e++)
      ck_assert_msg(reach[e] == (formula(f / 4 % 4, e / 16) && formula(f % 4, e % 16)), "%zu sees %zu", f, e);
  }
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* An entry sees those that differ from it along the axis alone. */
START_TEST(softmax_along_each_axis)
{
  static const size_t dims[] = {2, 3, 4};
  uint64_t state = 9;

  for (size_t axis = 0; axis < 3; axis++) {
    growing g = {.state = &state, .number = small_number, .rank = 3, .at = "x"};
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2, 2, 3, 4,));
    bool reach[24], whole;
    machine k;

    model_begin(&g.m, 16);
    model_input(&g.m, "x", SHAPE(-1, 2, 3, 4,));
    attr_int(grow_node(&g, "Softmax", NULL, false), "axis", (int64_t)axis + 1);
    model_output(&g.m, g.at);
    machine_begin(&k, &g.m, &x, profile_text, false);
    for (size_t f = 0; f < 24; f++) {
      size_t work = 1000;

      OK(clarke_field_find(reach, &whole, &work, &k.g, k.g.output, f, &error));
      for (size_t e = 0; e < 24; e++) {
        size_t differ = 0, each = 24;

        for (size_t a = 0; a < 3; a++) {
          each /= dims[a];
          differ += a != axis && e / each % dims[a] != f / each % dims[a];
        }
        ck_assert_msg(whole && reach[e] == (differ == 0), "axis %zu: %zu sees %zu", axis, f, e);
      }
    }
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&g.m);
  }
}
END_TEST

/* With too little work nothing is said, and no memory is lost; with enough that much is taken. */
START_TEST(work_that_does_not_suffice)
{
  uint64_t state = 7;
  growing grown;
  clarke_tensor x = three_windows(&grown, &state);
  bool reach[256], whole = false;
  machine k;
  size_t enough = 0;

  machine_begin(&k, &grown.m, &x, profile_text, false);
  for (size_t work = 0; work < 3000; work++) {
    size_t left = work;

    OK(clarke_field_find(reach, &whole, &left, &k.g, k.g.output, 21, &error));
    ck_assert(whole == (left > 0) && (enough == 0 || work - left == enough));
    enough = whole ? work - left : 0;
  }
  ck_assert(enough > 49 && enough < 800); /* a column of all filters is looked at once */
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("field");

  tcase_add_test(tests, what_changes_is_seen);
  tcase_add_test(tests, windows_one_behind_another);
  tcase_add_test(tests, softmax_along_each_axis);
  tcase_add_test(tests, work_that_does_not_suffice);
  return run_tests();
}
