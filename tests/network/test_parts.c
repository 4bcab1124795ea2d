/* Parts that the passes share: linear steps on matrices, losses by name, keys of identities. */
#include "../ok.h"

#include "network/pass/identity/key.h"
#include "network/pass/linear.h"
#include "network/derive/loss.h"

#include <stdlib.h>
#include <string.h>

/* Entries 1, 2, 3, ... by rows. */
static void
count_up(clarke_matrix *m, size_t rows, size_t cols)
{
  double entry[32];

  for (size_t k = 0; k < rows * cols; k++)
    entry[k] = (double)k + 1;
  clarke_matrix_init(m);
  OK(clarke_matrix_set_doubles(m, rows, cols, entry, &error));
}

static void
matrix_is(const clarke_matrix *m, size_t rows, size_t cols, const char *entries)
{
  char text[256] = "";
  mpq_t q;

  ck_assert(m->rows == rows && m->cols == cols);
  mpq_init(q);
  for (size_t k = 0; k < rows * cols; k++) {
    clarke_matrix_get(q, m, k / cols, k % cols);
    gmp_snprintf(text + strlen(text), sizeof text - strlen(text), "%s%Qd", k > 0 ? " " : "", q);
  }
  mpq_clear(q);
  ck_assert_str_eq(text, entries);
}

START_TEST(a_view_shares)
{
  clarke_matrix m, view;

  count_up(&m, 2, 3);
  view = clarke_matrix_view(&m, 3, 2);
  ck_assert_ptr_eq(view.word, m.word);
  matrix_is(&view, 3, 2, "1 2 3 4 5 6");
  clarke_matrix_clear(&m);
}
END_TEST

/* Feature axis (blocks 2, extent 2, repeat 1), two samples: blocks go beside each other. */
START_TEST(blocks_are_gathered)
{
  clarke_matrix m, c;

  count_up(&m, 4, 2);
  clarke_matrix_init(&c);
  OK(clarke_dense_gather(&c, &m, 2, 2, &error));
  matrix_is(&c, 2, 4, "1 2 5 6 3 4 7 8");
  OK(clarke_dense_gather(&c, &m, 1, 4, &error));
  matrix_is(&c, 4, 2, "1 2 3 4 5 6 7 8");
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&m);
}
END_TEST

START_TEST(a_dense_step_multiplies_either_way)
{
  static clarke_operand in[1];
  clarke_step s = {.kind = CLARKE_DENSE, .n_in = 1, .in = in, .dense = {.blocks = 2, .inner = 2, .outer = 3, .repeat = 1}};
  clarke_matrix w, x, y, z;

  count_up(&w, 3, 2); /* outer x inner */
  count_up(&x, 4, 1);
  clarke_matrix_init(&y);
  clarke_matrix_init(&z);
  OK(clarke_dense_apply(&y, &s, &w, &x, false, &error));
  matrix_is(&y, 6, 1, "5 11 17 11 25 39");
  OK(clarke_dense_apply(&z, &s, &w, &y, true, &error));
  matrix_is(&z, 4, 1, "123 156 281 356"); /* W^T of each block */
  s.dense.transposed = true;
  s.dense.outer = 2;
  s.dense.inner = 3;
  OK(clarke_dense_apply(&z, &s, &w, &y, false, &error));
  matrix_is(&z, 4, 1, "123 156 281 356");
  clarke_matrix_clear(&w);
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
  clarke_matrix_clear(&z);
}
END_TEST

START_TEST(an_operand_has_a_map_and_a_coefficient)
{
  size_t map[4] = {2, CLARKE_NONE, 0, 2};
  clarke_operand o = {.coef = -0.5, .map = map};
  clarke_matrix x, y;

  count_up(&x, 3, 2);
  clarke_matrix_init(&y);
  OK(clarke_operand_apply(&y, &o, &x, 4, &error));
  matrix_is(&y, 4, 2, "-5/2 -3 0 0 -1/2 -1 -5/2 -3");
  o.map = NULL;
  o.coef = 1;
  OK(clarke_operand_apply(&y, &o, &x, 3, &error));
  matrix_is(&y, 3, 2, "1 2 3 4 5 6");
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&y);
}
END_TEST

START_TEST(reciprocals_are_exact_where_they_can_be)
{
  clarke_matrix c, r;
  mpq_t epsilon;

  count_up(&c, 4, 1);
  clarke_matrix_init(&r);
  OK(clarke_reciprocals(&r, &c, &error));
  matrix_is(&r, 4, 1, "1 1/2 1/3 1/4");
  clarke_matrix_clear(&c);
  clarke_matrix_init(&c);
  OK(clarke_matrix_set_doubles(&c, 2, 1, (const double[]){0, 3.75}, &error));
  mpq_init(epsilon);
  mpq_set_ui(epsilon, 1, 4);
  OK(clarke_root_reciprocals(&r, &c, epsilon, 128, &error));
  matrix_is(&r, 2, 1, "2 1/2");
  mpq_set_ui(epsilon, 1, 1);
  OK(clarke_root_reciprocals(&r, &c, epsilon, 128, &error)); /* 1/sqrt(19/4) is irrational */
  ck_assert(clarke_matrix_radius(&r, 0, 0) == 0 && clarke_matrix_radius(&r, 1, 0) > 0);
  mpq_clear(epsilon);
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&r);
}
END_TEST

START_TEST(losses_have_names)
{
  clarke_loss_kind kind;

  for (int k = CLARKE_LOSS_SUM; k <= CLARKE_LOSS_CE; k++) {
    const clarke_loss loss = {.kind = (clarke_loss_kind)k};

    OK(clarke_loss_parse(&kind, clarke_loss_name((clarke_loss_kind)k), &error));
    ck_assert_int_eq(kind, k);
    ck_assert(clarke_loss_is_rational(&loss) == (k != CLARKE_LOSS_CE));
  }
  ck_assert_int_eq(clarke_loss_parse(&kind, "l1", &error), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "no loss 'l1'; known: sum, mse, ce");
  ck_assert_int_eq(clarke_loss_parse(&kind, "", &error), CLARKE_EINPUT);
}
END_TEST

/* --- keys --- */

/* An input of two features, two columns: 3, 0; 3, 4. */
static clarke_identities *
some_identities(clarke_graph *g, clarke_tensor *x)
{
  static clarke_value value = {.rank = 1, .dims = {2}, .count = 2, .producer = CLARKE_NONE, .parameter = CLARKE_NONE, .made_of = CLARKE_NONE};
  static double real[4] = {3, 0, 3, 4}; /* sample by sample */
  clarke_identities *ids;

  memset(g, 0, sizeof *g);
  memset(x, 0, sizeof *x);
  g->values = &value;
  g->n_values = 1;
  x->real = real;
  ids = clarke_identities_new(g, 2, NULL, NULL, x);
  ck_assert_ptr_nonnull(ids);
  return ids;
}

START_TEST(equal_keys_have_one_number)
{
  clarke_graph g;
  clarke_tensor x;
  clarke_identities *ids = some_identities(&g, &x);
  clarke_identity first[600], last = 0;

  for (size_t round = 0; round < 2; round++)
    for (size_t i = 0; i < 600; i++) { /* more words than a key has room for at first */
      clarke_key k = clarke_key_begin(ids, BY_STRUCTURE, i % 20);

      for (size_t word = 0; word < i / 20 * 4; word++)
        clarke_key_put(&k, (uint64_t)word << 40);
      if (round == 0) {
        first[i] = clarke_key_intern(&k, false);
        ck_assert_uint_gt(first[i], last); /* new */
        last = first[i];
      } else
        ck_assert_uint_eq(clarke_key_intern(&k, false), first[i]);
    }
  ck_assert_uint_gt(first[0], CLARKE_IDENTITY_ZERO);
  ck_assert(!clarke_identities_failed(ids));
  clarke_identities_free(ids);
}
END_TEST

START_TEST(inputs_are_told_by_their_numbers)
{
  clarke_graph g;
  clarke_tensor x;
  clarke_identities *ids = some_identities(&g, &x);
  const clarke_identity three = clarke_identity_by_number(ids, 0, 0);

  ck_assert(clarke_identity_is_constant(three) && three != CLARKE_IDENTITY_ZERO);
  ck_assert_uint_eq(clarke_identity_by_number(ids, 0, 1), three);                /* feature 0 of sample 1 */
  ck_assert_uint_eq(clarke_identity_by_number(ids, 0, 2), CLARKE_IDENTITY_ZERO); /* feature 1 of sample 0 */
  ck_assert_uint_ne(clarke_identity_by_number(ids, 0, 3), three);
  ck_assert(!clarke_identity_is_constant(clarke_identity_alone(ids, 0, 0)));
  ck_assert_uint_ne(clarke_identity_alone(ids, 0, 0), clarke_identity_alone(ids, 0, 1));
  ck_assert_uint_eq(clarke_identity_alone(ids, 0, 1), clarke_identity_alone(ids, 0, 1));
  ck_assert_ptr_null(clarke_identities_producer(ids, 0));
  clarke_identities_free(ids);
}
END_TEST

START_TEST(a_parameter_is_told_by_its_entry)
{
  size_t origin[2] = {1, 0};
  double real[2] = {5, 5};
  clarke_value v[3] = {{.constant = true, .real = real, .count = 2, .parameter = 0, .made_of = CLARKE_NONE},
                       {.constant = true, .real = real, .count = 2, .parameter = 0, .made_of = 0, .origin = origin},
                       {.constant = true, .real = real, .count = 2, .parameter = CLARKE_NONE}};
  const clarke_graph g = {.values = v, .n_values = 3};

  ck_assert_uint_eq(clarke_coefficient(&g, 0, 0), clarke_coefficient(&g, 1, 1)); /* seen through a transposition */
  ck_assert_uint_ne(clarke_coefficient(&g, 0, 0), clarke_coefficient(&g, 0, 1)); /* equal numbers, two entries */
  ck_assert_uint_eq(clarke_coefficient(&g, 2, 0), clarke_coefficient(&g, 2, 1)); /* no parameter: its number */
  ck_assert_uint_ne(clarke_coefficient(&g, 2, 0), clarke_coefficient(&g, 0, 0));
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("parts");
  int failed;

  tcase_add_test(tests, a_view_shares);
  tcase_add_test(tests, blocks_are_gathered);
  tcase_add_test(tests, a_dense_step_multiplies_either_way);
  tcase_add_test(tests, an_operand_has_a_map_and_a_coefficient);
  tcase_add_test(tests, reciprocals_are_exact_where_they_can_be);
  tcase_add_test(tests, losses_have_names);
  tcase_add_test(tests, equal_keys_have_one_number);
  tcase_add_test(tests, inputs_are_told_by_their_numbers);
  tcase_add_test(tests, a_parameter_is_told_by_its_entry);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
