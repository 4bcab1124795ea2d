/* One step of a filter by itself: normalizations, norms of errors, and distances from kinks, beside what is truly there. */
#include "../suites.h"
#include "filter_scene.h"
#include "models.h"

#include "network/graph/build.h"
#include "network/pass/filter/measure.h"
#include "network/pass/filter/norms.h"

typedef struct {
  clarke_graph g;
  clarke_tensor x;
  scene c;
  const clarke_step *s; /* the one of that kind */
} single;

static void
begin_single(single *o, clarke_model *m, const long *shape, clarke_step_kind kind, bool fine, bool norms)
{
  model_output(m, "y");
  o->x = tensor_of("x", CLARKE_F64, shape);
  clarke_graph_init(&o->g);
  OK(clarke_graph_build(&o->g, m, &o->x, &error));
  clarke_model_clear(m);
  begin(&o->c, &o->g, &o->x, fine, norms);
  o->s = NULL;
  for (size_t i = 0; i < o->g.n_steps; i++)
    if (o->g.steps[i].kind == kind)
      o->s = &o->g.steps[i];
  ck_assert_ptr_nonnull(o->s);
  o->c.f.step = (size_t)(o->s - o->g.steps);
}

static void
end_single(single *o)
{
  end(&o->c);
  clarke_graph_clear(&o->g);
  clarke_tensor_clear(&o->x);
}

/* (x - mean) / root of one sample, of what x truly is: within the bounds of each entry, and not far below them. */
START_TEST(normalized)
{
  enum { ROWS = 5, COLUMNS = 4 };
  uint64_t state = 11;
  double nearest = 0;

  for (int round = 0; round < 60; round++) {
    clarke_enclosure *y;
    clarke_model m;
    single o;
    double *one;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, ROWS, ));
    one = model_floats(&m, "one", SHAPE(ROWS, ));
    for (size_t i = 0; i < ROWS; i++)
      one[i] = 1;
    model_node(&m, "LayerNormalization", "x,one", "y");
    begin_single(&o, &m, SHAPE(COLUMNS, ROWS, ), CLARKE_NORMALIZE, round % 2 == 0, round % 4 == 1);
    draw_operand(&o.c, o.g.input, &state);
    OK(clarke_filter_normalize(&o.c.f, o.s));
    y = &o.c.f.value[o.s->out];
    for (size_t j = 0; j < COLUMNS; j++) {
      const double *x = o.c.truth[o.g.input];
      long double mean = 0, square = mpq_get_d(o.s->epsilon), squares = 0, most = 0;

      for (size_t i = 0; i < ROWS; i++)
        mean += (long double)x[i * COLUMNS + j] / ROWS;
      for (size_t i = 0; i < ROWS; i++)
        square += (x[i * COLUMNS + j] - mean) * (x[i * COLUMNS + j] - mean) / ROWS;
      for (size_t i = 0; i < ROWS; i++) {
        const long double off = fabsl(y->y[i * COLUMNS + j] - (x[i * COLUMNS + j] - mean) / sqrtl(square));
        const double bound = clarke_enclosure_bound_at(&o.c.f, y, i, j);

        ck_assert_msg(off <= bound + 1e-17L, "entry %zu: %Lg off, %g said", i, off, bound);
        nearest = fmax(nearest, bound > 1e-10 ? (double)off / bound : 0);
        squares += off * off;
        most = off > most ? off : most;
      }
      ck_assert(y->norm == NULL || (sqrtl(squares) <= y->norm[j] + 1e-17L && most <= y->most[j] + 1e-17L));
    }
    end_single(&o);
  }
  ck_assert_double_gt(nearest, 0.05);
}
END_TEST

/* Wide rows and columns: what is found comes from the operand's norms. */
static clarke_enclosure *
wide_output(single *o)
{
  clarke_enclosure *y = &o->c.f.value[o->s->out];

  clarke_enclosure_drop(y);
  OK(clarke_enclosure_alloc(&o->c.f, y, o->g.values[o->s->out].count));
  for (size_t i = 0; i < y->rows; i++)
    y->row[i] = 1e100;
  for (size_t j = 0; j < o->c.f.n; j++)
    y->col[j] = 1e100;
  ck_assert_ptr_nonnull(y->norm);
  return y;
}

/* Every error of the argument that its norms allow, times the weight, is within the norms that come out. */
START_TEST(norms_of_products)
{
  enum { INNER = 3, OUTER = 4, COLUMNS = 2 };
  const double none[COLUMNS] = {0, 0}, largest[COLUMNS] = {3, 5}, all[COLUMNS] = {4, 7}, far[COLUMNS] = {1e308, 5};
  uint64_t state = 12;

  for (int round = 0; round < 60; round++) {
    double w[OUTER * INNER], frobenius = 0, row = 0, norm[COLUMNS], most[COLUMNS], *to;
    const clarke_enclosure *x;
    clarke_enclosure *y;
    clarke_model_node *node;
    clarke_model m;
    single o;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, INNER, ));
    to = model_floats(&m, "w", SHAPE(OUTER, INNER, ));
    for (size_t k = 0; k < OUTER * INNER; k++) {
      w[k] = to[k] = draw_number(&state);
      frobenius += w[k] * w[k];
    }
    for (size_t r = 0; r < OUTER; r++)
      row = fmax(row, sqrt(w[r * INNER] * w[r * INNER] + w[r * INNER + 1] * w[r * INNER + 1] + w[r * INNER + 2] * w[r * INNER + 2]));
    node = model_node(&m, "Gemm", "x,w", "y");
    attr_int(node, "transB", 1);
    begin_single(&o, &m, SHAPE(COLUMNS, INNER, ), CLARKE_DENSE, false, true);
    draw_operand(&o.c, o.g.input, &state);
    x = &o.c.f.value[o.g.input];
    y = wide_output(&o);
    clarke_norms_of_product(&o.c.f, o.s, y, 0, none, none);
    for (size_t j = 0; j < COLUMNS; j++) {
      norm[j] = y->norm[j];
      most[j] = y->most[j];
      ck_assert(norm[j] <= sqrt(frobenius) * x->norm[j] * (1 + 1e-6) + 1e-100 && most[j] <= norm[j] && y->before[j] <= norm[j]);
      for (int draws = 0; draws < 20; draws++) {
        double e[INNER], size = 0, squares = 0, by, worst = 0;

        for (size_t i = 0; i < INNER; i++) {
          e[i] = x->most[j] * (double)draw_between(&state, -4, 4) / 4;
          size += e[i] * e[i];
        }
        by = size > 0 ? fmin(1, x->norm[j] / sqrt(size)) : 1;
        for (size_t r = 0; r < OUTER; r++) {
          const double off = by * (w[r * INNER] * e[0] + w[r * INNER + 1] * e[1] + w[r * INNER + 2] * e[2]);

          worst = fmax(worst, fabs(off));
          squares += off * off;
        }
        ck_assert(worst <= most[j] * (1 + 1e-12) && sqrt(squares) <= norm[j] * (1 + 1e-12));
      }
    }
    clarke_norms_of_product(&o.c.f, o.s, y, 0x1p-10, largest, all); /* and what is rounded */
    for (size_t j = 0; j < COLUMNS; j++) {
      const double own = 0x1p-10 * row * largest[j], whole = 0x1p-10 * sqrt(frobenius) * all[j];

      ck_assert(y->norm[j] >= fmin(norm[j] + whole, 2 * y->most[j]) * (1 - 1e-9));
      ck_assert(y->norm[j] <= (sqrt(frobenius) * x->norm[j] + whole) * (1 + 1e-6) + 1e-100);
      ck_assert(y->most[j] >= fmin(y->norm[j], most[j] + own) * (1 - 1e-9));
      ck_assert(y->most[j] <= (sqrt(frobenius) * x->norm[j] + own) * (1 + 1e-6) + 1e-100);
    }
    clarke_norms_of_product(&o.c.f, o.s, y, 0x1p-10, far, all);
    ck_assert(row < 2 || isinf(y->norm[0]) || y->norm[0] > 1e90); /* a sum may have overflown: rows alone are left */
    end_single(&o);
  }
}
END_TEST

/* Of a sum the operands' norms together; of pieces the steepest times the argument's; and roundings. */
START_TEST(norms_of_sums_and_pieces)
{
  enum { ROWS = 4, COLUMNS = 3 };
  const double own[COLUMNS] = {0, 0x1p-9, 1};
  uint64_t state = 13;

  for (int round = 0; round < 60; round++) {
    const double *const rounding = round % 2 == 0 ? own : NULL;
    const clarke_enclosure *a, *b;
    clarke_enclosure *y;
    clarke_growth *known;
    clarke_model m;
    single o;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, ROWS, ));
    model_node(&m, "Relu", "x", "r");
    model_node(&m, "Sub", "x,r", "y");
    begin_single(&o, &m, SHAPE(COLUMNS, ROWS, ), CLARKE_SUM, false, true);
    for (size_t k = 0; k < 2; k++)
      draw_operand(&o.c, o.s->in[k].value, &state);
    a = &o.c.f.value[o.s->in[0].value];
    b = &o.c.f.value[o.s->in[1].value];
    y = wide_output(&o);
    clarke_norms_of_step(&o.c.f, o.s, y, rounding);
    for (size_t j = 0; j < COLUMNS; j++) {
      const double r = rounding != NULL ? own[j] : 0, most = a->most[j] + b->most[j] + r, norm = a->norm[j] + b->norm[j] + 2 * r;

      ck_assert(y->most[j] >= fmin(most, norm) * (1 - 1e-12) && y->most[j] <= most * (1 + 1e-9) + 1e-140);
      ck_assert(y->norm[j] >= fmin(norm, 2 * most) * (1 - 1e-12) && y->norm[j] <= norm * (1 + 1e-9) + 1e-140);
    }
    known = o.c.growths.growth[o.c.f.step];
    o.c.growths.growth[o.c.f.step] = NULL;
    clarke_norms_of_step(&o.c.f, o.s, y, rounding);
    for (size_t j = 0; j < COLUMNS; j++)
      ck_assert(isinf(y->most[j]) && isinf(y->norm[j]) && isinf(y->before[j]));
    o.c.growths.growth[o.c.f.step] = known;
    for (size_t i = 0; i < o.g.n_steps; i++)
      if (o.g.steps[i].kind == CLARKE_PIECEWISE)
        o.s = &o.g.steps[i];
    y = wide_output(&o);
    clarke_norms_of_pieces(&o.c.f, o.s, y, 3, rounding);
    for (size_t j = 0; j < COLUMNS; j++) {
      const double r = rounding != NULL ? own[j] : 0, most = 3 * a->most[j] + r, norm = 3 * a->norm[j] + 2 * r;

      ck_assert(y->most[j] >= fmin(most, norm) * (1 - 1e-12) && y->most[j] <= most * (1 + 1e-9) + 1e-140);
      ck_assert(y->norm[j] >= fmin(norm, 2 * most) * (1 - 1e-12) && y->norm[j] <= norm * (1 + 1e-9) + 1e-140);
    }
    end_single(&o);
  }
}
END_TEST

/* --- distances ------------------------------------------------------------------------------- */

/* The least true distance is between the bounds, and no true argument is larger than said. */
START_TEST(distances_of_arguments)
{
  enum { ROWS = 5, COLUMNS = 4 };
  uint64_t state = 14;
  size_t measured = 0;

  for (int round = 0; round < 100; round++) {
    const bool told = round % 2 == 0;
    double kinks[CLARKE_MAX_KINKS];
    clarke_margin **margin;
    clarke_enclosure *x;
    clarke_model m;
    single o;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, ROWS, ));
    model_node(&m, told ? "HardSigmoid" : "Relu", "x", "y");
    if (told)
      attr_float(&m.nodes[0], "alpha", 0.25);
    begin_single(&o, &m, SHAPE(COLUMNS, ROWS, ), CLARKE_PIECEWISE, round % 3 == 0, false);
    margin = clarke_margin_rows(&o.g, COLUMNS);
    o.c.f.margin = margin;
    draw_operand(&o.c, o.g.input, &state);
    x = &o.c.f.value[o.g.input];
    for (size_t k = 0; k < o.s->pieces.n_kinks; k++)
      kinks[k] = mpq_get_d(o.s->pieces.kink[k]);
    for (size_t i = 0; i < ROWS; i++) {
      clarke_branch piece[COLUMNS];

      clarke_enclosure_row_bounds(&o.c.f, x, i, o.c.f.bound);
      for (size_t j = 0; j < COLUMNS; j++)
        piece[j] = i == 2 || o.c.f.bound[j] > 0.2 ? CLARKE_OPEN : 0;
      clarke_measure_arguments(&o.c.f, o.s, kinks, false, x->y + i * COLUMNS, told ? piece : NULL, i);
    }
    for (size_t j = 0; j < COLUMNS; j++) {
      const clarke_margin *m_j = &margin[o.c.f.step][j];
      double least = INFINITY;

      for (size_t i = 0; i < ROWS; i++) {
        const double truth = o.c.truth[o.g.input][i * COLUMNS + j], bound = clarke_enclosure_bound_at(&o.c.f, x, i, j);

        ck_assert(fabs(truth) <= m_j->size);
        for (size_t k = 0; k < o.s->pieces.n_kinks; k++) {
          const double kink = mpq_get_d(o.s->pieces.kink[k]);

          if (told ? i != 2 && bound <= 0.2 : fabs(x->y[i * COLUMNS + j]) > bound)
            least = fmin(least, fabs(truth - kink));
          ck_assert(fabs(kink) <= m_j->size);
        }
      }
      ck_assert(m_j->least <= least && (least <= m_j->most || m_j->most == INFINITY));
      ck_assert((least == INFINITY) == (m_j->most == INFINITY));
      measured += least < INFINITY;
      ck_assert(least == INFINITY || (m_j->least >= least - 1 && m_j->feature < ROWS && (!told || m_j->feature != 2)));
    }
    clarke_margin_rows_free(margin, o.g.n_steps);
    o.c.f.margin = NULL;
    end_single(&o);
  }
  ck_assert_uint_gt(measured, 100);
}
END_TEST

/* Of windows: the largest entry less those that are certainly smaller. */
START_TEST(distances_of_windows)
{
  enum { ENTRIES = 8, COLUMNS = 3 };
  uint64_t state = 15;
  size_t measured = 0;

  for (int round = 0; round < 100; round++) {
    clarke_margin **margin;
    clarke_enclosure *x;
    clarke_model m;
    single o;
    double least[COLUMNS] = {INFINITY, INFINITY, INFINITY};

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, 1, ENTRIES, ));
    model_node(&m, "MaxPool", "x", "y");
    attr_ints(&m.nodes[0], "kernel_shape", SHAPE(3, ));
    attr_ints(&m.nodes[0], "pads", SHAPE(1, 1, ));
    begin_single(&o, &m, SHAPE(COLUMNS, 1, ENTRIES, ), CLARKE_MAX, round % 3 == 0, false);
    margin = clarke_margin_rows(&o.g, COLUMNS);
    o.c.f.margin = margin;
    draw_operand(&o.c, o.g.input, &state);
    x = &o.c.f.value[o.g.input];
    for (size_t i = 0; i < o.g.values[o.s->out].count; i++) {
      double y[COLUMNS], top[COLUMNS];
      clarke_branch piece[COLUMNS];

      for (size_t j = 0; j < COLUMNS; j++) {
        double most = 0;

        y[j] = -INFINITY;
        piece[j] = i == 1 ? CLARKE_OPEN : 0;
        for (size_t p = 0; p < o.s->width; p++) {
          const size_t e = o.s->in[0].map[i * o.s->width + p];

          if (e == CLARKE_NONE)
            continue;
          most = fmax(most, clarke_enclosure_bound_at(&o.c.f, x, e, j));
          if (x->y[e * COLUMNS + j] > y[j]) {
            y[j] = x->y[e * COLUMNS + j];
            top[j] = o.c.truth[o.g.input][e * COLUMNS + j];
          }
        }
        o.c.f.bound[j] = 2 * most;
        for (size_t p = 0; p < o.s->width; p++) {
          const size_t e = o.s->in[0].map[i * o.s->width + p];

          if (e != CLARKE_NONE && i != 1 && y[j] - x->y[e * COLUMNS + j] > 2 * most * (1 + 1e-9) + 1e-12)
            least[j] = fmin(least[j], top[j] - o.c.truth[o.g.input][e * COLUMNS + j]);
        }
      }
      clarke_measure_windows(&o.c.f, o.s, y, piece, i);
    }
    for (size_t j = 0; j < COLUMNS; j++) {
      const clarke_margin *m_j = &margin[o.c.f.step][j];

      for (size_t e = 0; e < ENTRIES; e++)
        ck_assert(fabs(o.c.truth[o.g.input][e * COLUMNS + j]) <= m_j->size);
      ck_assert(m_j->least <= least[j] && (least[j] == INFINITY || least[j] <= m_j->most));
      ck_assert(m_j->feature != 1 || m_j->least == INFINITY);
      measured += least[j] < INFINITY;
    }
    clarke_margin_rows_free(margin, o.g.n_steps);
    o.c.f.margin = NULL;
    end_single(&o);
  }
  ck_assert_uint_gt(measured, 100);
}
END_TEST

MODULE(filter_single)
{
  TCase *tests = tests_of("single steps of a filter");

  tcase_add_test(tests, normalized);
  tcase_add_test(tests, norms_of_products);
  tcase_add_test(tests, norms_of_sums_and_pieces);
  tcase_add_test(tests, distances_of_arguments);
  tcase_add_test(tests, distances_of_windows);
  return all_tests;
}
