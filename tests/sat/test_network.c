/* The network of a formula: its sizes, and its values beside the definition. */
#include "formulas.h"
#include "base/output.h"
#include "program/execute.h"
#include "program/prog.h"
#include "sat/decode.h"
#include "sat/network.h"

/* The network's value, by its matrices alone. */
static long
network_value(const clarke_sign_network *net, const long *x)
{
  size_t most = net->n_inputs;
  long *in, *out, value;

  for (size_t k = 0; k < net->n_matrices; k++)
    most = net->matrix[k].n_rows > most ? net->matrix[k].n_rows : most;
  in = calloc(most, sizeof *in);
  out = calloc(most, sizeof *out);
  memcpy(in, x, net->n_inputs * sizeof *in);
  for (size_t k = 0; k < net->n_matrices; k++) {
    for (size_t i = 0; i < net->matrix[k].n_rows; i++) {
      const clarke_sign_row *r = &net->matrix[k].row[i];

      out[i] = 0;
      for (size_t j = 0; j < r->n; j++)
        out[i] += r->entry[j] * in[r->column[j]];
      if (k + 1 < net->n_matrices && out[i] < 0)
        out[i] = 0;
    }
    memcpy(in, out, net->matrix[k].n_rows * sizeof *in);
  }
  value = in[0];
  free(in);
  free(out);
  return value;
}

/* min over clauses of max(0, literals), in integers. */
static long
formula_value(const clarke_three *t, const long *x)
{
  long least = LONG_MAX;

  for (size_t c = 0; c < t->n_clauses; c++) {
    long most = 0;

    for (size_t i = 0; i < 3; i++) {
      const int l = t->clause[c][i];
      const long y = l > 0 ? x[l - 1] : -x[-l - 1];

      most = y > most ? y : most;
    }
    least = most < least ? most : least;
  }
  return least;
}

typedef struct {
  clarke_three three;
  clarke_sign_network net;
} encoded;

static encoded
encode(clarke_cnf *f)
{
  encoded e;

  clarke_three_init(&e.three);
  clarke_sign_network_init(&e.net);
  OK(clarke_three_make(&e.three, f, &error));
  OK(clarke_sign_network_make(&e.net, &e.three, &error));
  return e;
}

static void
encoded_clear(encoded *e)
{
  clarke_sign_network_clear(&e->net);
  clarke_three_clear(&e->three);
}

/* 6n, 3n, n, 3n/2, ..., 3, and at the end 1; every entry -1 or 1, at increasing columns that there are. */
static void
require_shape(const encoded *e)
{
  const size_t n = e->three.n_clauses;
  size_t k = 3, columns = e->three.n_variables;

  ck_assert_uint_eq(e->net.matrix[0].n_rows, 6 * n);
  ck_assert_uint_eq(e->net.matrix[1].n_rows, 3 * n);
  ck_assert_uint_eq(e->net.matrix[2].n_rows, n);
  for (size_t w = n; w > 1; w /= 2)
    ck_assert_uint_eq(e->net.matrix[k++].n_rows, 3 * w / 2);
  ck_assert_uint_eq(e->net.matrix[k++].n_rows, 1);
  ck_assert_uint_eq(e->net.n_matrices, k);
  for (k = 0; k < e->net.n_matrices; columns = e->net.matrix[k++].n_rows) {
    ck_assert_uint_eq(e->net.matrix[k].n_columns, columns);
    for (size_t i = 0; i < e->net.matrix[k].n_rows; i++) {
      const clarke_sign_row *r = &e->net.matrix[k].row[i];

      for (size_t j = 0; j < r->n; j++)
        if (r->column[j] >= columns || (j > 0 && r->column[j] <= r->column[j - 1]) || labs(r->entry[j]) != 1)
          ck_abort_msg("matrix %zu, row %zu", k, i);
    }
  }
}

/* Thesis, Example 4: 24, 12, 4, 6, 3. */
START_TEST(example)
{
  static const size_t widths[] = {24, 12, 4, 6, 3, 1};
  clarke_cnf f = FORMULA(6, 1, 2, -3, 0, 1, 4, -5, 0, -2, -3, 6, 0, 2, -2, 6, 0, );
  encoded e = encode(&f);

  ck_assert_uint_eq(e.net.n_matrices, 6);
  for (size_t k = 0; k < 6; k++)
    ck_assert_uint_eq(e.net.matrix[k].n_rows, widths[k]);
  ck_assert_int_eq(network_value(&e.net, (const long[]){3, -2, 5, -7, 4, 1}), 2); /* cases/papers/thesis-example4-paired */
  encoded_clear(&e);
  clarke_cnf_clear(&f);
}
END_TEST

/* At all sign vectors, where it is 1 on the assignments that satisfy and else 0, and at drawn points with zeros and ties. */
START_TEST(values)
{
  uint64_t state = 2;

  for (int k = 0; k < 200; k++) {
    clarke_cnf f = draw_formula(&state, 1 + draw_below(&state, 5), draw_below(&state, 12), 0, 5);
    encoded e = encode(&f);
    const size_t n = e.three.n_variables;
    long x[64];
    bool value[64];

    require_shape(&e);
    for (size_t a = 0; n <= 10 && a < (size_t)1 << n; a++) {
      assignment_of(value, n, a);
      for (size_t v = 0; v < n; v++)
        x[v] = value[v] ? 1 : -1;
      ck_assert_int_eq(network_value(&e.net, x), three_holds(&e.three, value));
    }
    for (int j = 0; j < 20; j++) {
      for (size_t v = 0; v < n; v++)
        x[v] = draw_between(&state, -3, 3);
      ck_assert_int_eq(network_value(&e.net, x), formula_value(&e.three, x));
    }
    encoded_clear(&e);
    clarke_cnf_clear(&f);
  }
}
END_TEST

/* The model's tensors and the program are those matrices. */
START_TEST(written)
{
  uint64_t state = 3;

  for (int k = 0; k < 20; k++) {
    clarke_cnf f = draw_formula(&state, 4, 1 + draw_below(&state, 6), 1, 4);
    encoded e = encode(&f);
    clarke_model m;
    clarke_text text;
    clarke_code program;
    clarke_execution run;
    long x[64];
    mpq_t *at = clarke_rationals(e.three.n_variables), value;

    clarke_model_init(&m);
    OK(clarke_sign_network_model(&m, &e.net, &error));
    for (size_t j = 0; j < e.net.n_matrices; j++)
      for (size_t r = 0; r < e.net.matrix[j].n_rows; r++) {
        const clarke_sign_row *row = &e.net.matrix[j].row[r];
        double sum = 0, *entry = m.tensors[j].real + r * e.net.matrix[j].n_columns;

        for (size_t c = 0; c < e.net.matrix[j].n_columns; c++)
          sum += entry[c] * entry[c];
        ck_assert_uint_eq((size_t)sum, row->n);
        for (size_t c = 0; c < row->n; c++)
          ck_assert_int_eq((int)entry[row->column[c]], row->entry[c]);
      }
    clarke_model_clear(&m);

    OK(clarke_text_open(&text, &error));
    clarke_sign_network_print(text.to, &e.net, "drawn");
    OK(clarke_text_close(&text, CLARKE_OK, &error));
    clarke_code_init(&program);
    clarke_execution_init(&run);
    mpq_init(value);
    OK(clarke_prog_parse(&program, text.text, text.size, "drawn.prog", &error));
    for (size_t v = 0; v < e.three.n_variables; v++) {
      x[v] = draw_between(&state, -3, 3);
      mpq_set_si(at[v], x[v], 1);
    }
    OK(clarke_execute(&run, &program, at, &error));
    ck_assert(run.value[program.output[0]].exact);
    ck_assert_int_eq(mpq_cmp_si(run.value[program.output[0]].q, network_value(&e.net, x), 1), 0);
    clarke_three_value(value, &e.three, at);
    ck_assert_int_eq(mpq_cmp_si(value, network_value(&e.net, x), 1), 0);
    mpq_clear(value);
    clarke_execution_clear(&run);
    clarke_code_clear(&program);
    clarke_text_clear(&text);
    clarke_rationals_free(at, e.three.n_variables);
    encoded_clear(&e);
    clarke_cnf_clear(&f);
  }
}
END_TEST

/* Where F(d) > 0 the signs of d satisfy the formula, zeros being false. */
START_TEST(decodes)
{
  uint64_t state = 4;
  size_t positive = 0, clause;

  for (int k = 0; k < 500; k++) {
    clarke_cnf f = draw_formula(&state, 3 + draw_below(&state, 3), 1 + draw_below(&state, 5), 1, 4);
    encoded e = encode(&f);
    const size_t n = e.three.n_variables;
    mpq_t *d = clarke_rationals(n), value;
    bool assignment[64];

    mpq_init(value);
    for (size_t v = 0; v < n; v++)
      mpq_set_si(d[v], draw_between(&state, -2, 2), 1 + draw_below(&state, 3));
    for (size_t v = 0; v < n; v++)
      mpq_canonicalize(d[v]);
    clarke_three_value(value, &e.three, d);
    clarke_direction_assignment(assignment, &e.three, d);
    if (mpq_sgn(value) > 0) {
      positive++;
      ck_assert(clarke_cnf_holds(&f, assignment, &clause));
      for (size_t v = 0; v < n; v++)
        mpq_set_si(d[v], assignment[v] ? 1 : -1, 1);
      clarke_three_value(value, &e.three, d);
      ck_assert(mpq_cmp_ui(value, 1, 1) == 0);
    }
    mpq_clear(value);
    clarke_rationals_free(d, n);
    encoded_clear(&e);
    clarke_cnf_clear(&f);
  }
  ck_assert_uint_gt(positive, 50);
}
END_TEST

START_TEST(too_large)
{
  uint64_t state = 5;
  clarke_cnf f = draw_three(&state, 10, 1000);
  encoded e = encode(&f);
  clarke_model m;

  clarke_model_init(&m);
  ck_assert_int_eq(clarke_sign_network_model(&m, &e.net, &error), CLARKE_ENOMEM);
  ck_assert_ptr_nonnull(strstr(error.text, "the matrices of the network have more entries"));
  clarke_model_clear(&m);
  encoded_clear(&e);
  clarke_cnf_clear(&f);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("network");

  tcase_add_test(tc, example);
  tcase_add_test(tc, values);
  tcase_add_test(tc, written);
  tcase_add_test(tc, decodes);
  tcase_add_test(tc, too_large);
  return run_tests();
}
