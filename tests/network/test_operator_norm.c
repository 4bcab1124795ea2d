/* Norms of matrices, and of the products of a network by them: bounds, and near. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/norms/growth.h"
#include "network/norms/operator_norm.h"

/* At most the norm, but for rounding: |W v| / |v| after some products with W^T W. */
static double
norm_from_below(const double *w, size_t rows, size_t cols, uint64_t *state)
{
  double v[64], y[64], size = 0;

  for (size_t j = 0; j < cols; j++)
    v[j] = full_double(state);
  for (size_t turn = 0; turn < 60; turn++) {
    double in = 0;

    size = 0;
    for (size_t j = 0; j < cols; j++)
      in += v[j] * v[j];
    for (size_t i = 0; i < rows; i++) {
      y[i] = 0;
      for (size_t j = 0; j < cols; j++)
        y[i] += w[i * cols + j] * v[j] / sqrt(in);
      size += y[i] * y[i];
    }
    for (size_t j = 0; j < cols; j++) {
      v[j] = 0;
      for (size_t i = 0; i < rows; i++)
        v[j] += w[i * cols + j] * y[i];
    }
  }
  return sqrt(size);
}

START_TEST(norms_are_bounds_and_near)
{
  uint64_t state = 3;

  for (size_t i = 0; i < 400; i++) {
    const size_t rows = 1 + draw_below(&state, 40), cols = 1 + draw_below(&state, 40);
    const int exponent = (int)draw_between(&state, -400, 400);
    double w[1600], from_below, norm;
    bool zero = true;

    for (size_t e = 0; e < rows * cols; e++) {
      const double v = draw_below(&state, 4) == 0 ? 0 : full_double(&state);

      w[e] = i % 3 == 0 ? 1 + ldexp(v, -26) : i % 3 == 1 ? ldexp(v, (int)draw_between(&state, -40, 0)) : v;
      zero = zero && w[e] == 0;
    }
    from_below = norm_from_below(w, rows, cols, &state);
    for (size_t e = 0; e < rows * cols; e++)
      w[e] = ldexp(w[e], exponent);
    OK(clarke_operator_norm(&norm, w, rows, cols, &error));
    ck_assert_msg(zero || norm >= ldexp(from_below, exponent) * (1 - 1e-13), "%zu: %g below %g", i, norm,
                  ldexp(from_below, exponent));
    ck_assert_msg(zero || norm <= ldexp(from_below, exponent) * 1.25, "%zu: %g far above %g", i, norm,
                  ldexp(from_below, exponent));
  }
}
END_TEST

/* Large ones, whose norms are verified by a factor: random, of low rank, with one row far above the others, and nearly
 * orthogonal, where all eigenvalues are the largest. */
START_TEST(norms_by_factors_are_bounds)
{
  uint64_t state = 5;

  for (size_t i = 0; i < 40; i++) {
    const size_t rows = 33 + draw_below(&state, 31), cols = 33 + draw_below(&state, 31), rank = 1 + draw_below(&state, 3);
    double *w = malloc(rows * cols * sizeof *w), u[64][4], v[64][4], from_below, norm;

    for (size_t e = 0; e < 256; e++) {
      u[e / 4][e % 4] = full_double(&state);
      v[e / 4][e % 4] = full_double(&state);
    }
    for (size_t e = 0; e < rows * cols; e++) {
      const size_t r = e / cols, c = e % cols;

      w[e] = i % 4 == 0 ? full_double(&state) : i % 4 == 1 ? 0 : i % 4 == 2 ? ldexp(full_double(&state), r == 0 ? 0 : -20)
                                                                          : (r == c) + ldexp(full_double(&state), -26);
      for (size_t k = 0; k < rank && i % 4 == 1; k++)
        w[e] += u[r][k] * v[c][k];
    }
    from_below = norm_from_below(w, rows, cols, &state);
    OK(clarke_operator_norm(&norm, w, rows, cols, &error));
    ck_assert_msg(norm >= from_below * (1 - 1e-13), "%zu: %g below %g", i, norm, from_below);
    ck_assert_msg(norm <= from_below * 1.12, "%zu: %g far above %g", i, norm, from_below);
    free(w);
  }
}
END_TEST

/* Matrices of one number: their Frobenius norm is their norm, and floats that sum equal terms all round down. */
START_TEST(norms_of_what_floats_round_down)
{
  static const size_t sizes[][2] = {{1, 3000}, {3, 2000}, {40, 300}, {300, 40}, {300, 300}, {2, 40000}};

  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < 24; k++) {
      const size_t entries = sizes[i][0] * sizes[i][1];
      const double v = (double)(2049 + k * 97 % 2000) / 4096, truth = v * sqrt((double)entries);
      double *w = malloc(entries * sizeof *w), norm;

      for (size_t e = 0; e < entries; e++)
        w[e] = v;
      OK(clarke_operator_norm(&norm, w, sizes[i][0], sizes[i][1], &error));
      ck_assert_msg(norm >= truth * (1 - 1e-13), "%zu x %zu of %g: %.17g below %.17g", sizes[i][0], sizes[i][1], v, norm,
                    truth);
      ck_assert(norm <= truth * (1 + 0x1p-18));
      free(w);
    }
}
END_TEST

START_TEST(norms_of_the_ends_of_doubles)
{
  const double large[] = {DBL_MAX, -DBL_MAX, DBL_MAX, DBL_MAX}, small[] = {0x1p-1074, 0, 0, 0x1p-1074};
  const double mixed[] = {0x1p-1074, 0x1p-160, 1, 0x1p-149}, none[] = {0, 0, 0, 0};
  double norm;

  OK(clarke_operator_norm(&norm, large, 2, 2, &error));
  ck_assert(norm >= DBL_MAX);
  OK(clarke_operator_norm(&norm, small, 2, 2, &error));
  ck_assert(norm >= 0x1p-1074);
  OK(clarke_operator_norm(&norm, mixed, 2, 2, &error));
  ck_assert(norm >= 1 && norm < 1.001);
  OK(clarke_operator_norm(&norm, none, 2, 2, &error));
  ck_assert(norm >= 0 && norm < 1e-30);
}
END_TEST

static double
one(uint64_t *state)
{
  (void)state;
  return 1;
}

/* The only product of that many rows. */
static size_t
product_of(const clarke_graph *g, size_t outer)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_DENSE && g->steps[i].dense.outer == outer)
      return i;
  ck_abort_msg("no product of %zu rows", outer);
}

/* A convolution of one tap, of ones. */
static void
convolve_ones(growing *g, size_t outputs)
{
  char name[16];
  double *w;

  strcpy(name, new_name(g, "w"));
  w = model_floats(&g->m, name, SHAPE((long)outputs, (long)g->dims[0], 1, 1,));
  for (size_t e = 0; e < outputs * g->dims[0]; e++)
    w[e] = 1;
  grow_node(g, "Conv", name, false);
  g->dims[0] = outputs;
}

/* Weights of ones: of 128 rows, which are taken apart, the norm is that of all; and rows count as often as any of their entries. */
START_TEST(growths_are_of_all_rows)
{
  uint64_t state = 73;
  size_t dims[3] = {2, 2, 2};
  growing grown[2];

  grow_begin(&grown[0], &state, one, 3, dims);
  convolve_ones(&grown[0], 512);
  convolve_ones(&grown[0], 128);
  grow_begin(&grown[1], &state, one, 3, dims);
  convolve_ones(&grown[1], 5);
  for (size_t k = 0; k < 2; k++) {
    clarke_tensor x;
    clarke_graph g;
    clarke_growths growths = {0};
    clarke_scaling *scaling;
    double row[20];
    bool *needed;
    size_t i;

    grow_trained(&grown[k]);
    grow_node(&grown[k], "Relu", NULL, false);
    model_output(&grown[k].m, grown[k].at);
    x = grow_batch(&grown[k], 3);
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown[k].m, &x, &error));
    needed = malloc((g.n_values + 1) * sizeof *needed);
    scaling = calloc(g.n_values + 1, sizeof *scaling);
    clarke_graph_needed(&g, false, needed);
    i = product_of(&g, k == 0 ? 128 : 5);
    for (size_t r = 0; r < 20; r++)
      row[r] = r == 4 ? 8 : 1; /* the second channel's first entry */
    if (k == 1)
      scaling[g.steps[i].out] = (clarke_scaling){.row = row, .least = 1, .most = 8, .size = 10};
    OK(clarke_growths_add_scaled(&growths, &g, needed, scaling, 3, &error));
    if (k == 0)
      ck_assert(growths.growth[i][0].norm >= 256 * (1 - 1e-9) && growths.growth[i][0].norm <= 256 * 1.2);
    else
      ck_assert(growths.joined[i] >= sqrt(2 * (64 + 4)) * (1 - 1e-9) && growths.joined[i] <= sqrt(2 * (64 + 4)) * 1.2);
    clarke_growths_clear(&growths);
    free(scaling);
    free(needed);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown[k].m);
  }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-operator_norm");

  tcase_add_test(tcase, norms_are_bounds_and_near);
  tcase_add_test(tcase, norms_by_factors_are_bounds);
  tcase_add_test(tcase, norms_of_what_floats_round_down);
  tcase_add_test(tcase, norms_of_the_ends_of_doubles);
  tcase_add_test(tcase, growths_are_of_all_rows);
  return run_tests();
}
