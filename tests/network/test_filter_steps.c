/* One step of a filter at a time: operands known within drawn errors, and the step in rationals on what they may truly be. What comes
 * out holds that, entry by entry and as norms; no place is decided that the true entries contradict. And the room for enclosures. */
#include "../ok.h"
#include "../op/steps.h"
#include "../suites.h"
#include "networks.h"

#include "network/build.h"
#include "network/filter/filter.h"
#include "network/filter/measure.h"
#include "network/filter/norms.h"

#include <math.h>

/* --- steps ----------------------------------------------------------------------------------- */

typedef struct {
  clarke_filter f;
  clarke_growths growths;
  double **truth; /* by value: entries, feature-major */
} scene;

static double
draw_number(uint64_t *state)
{
  return (double)draw_between(state, -12, 12) / 4;
}

static void
begin(scene *c, const clarke_graph *g, const clarke_tensor *x, bool fine, bool norms)
{
  bool *needed = malloc(g->n_values + 1);

  memset(c, 0, sizeof *c);
  c->f = (clarke_filter){.g = g, .n = g->samples, .fine = fine, .x = x, .err = &error};
  c->f.value = calloc(g->n_values + 1, sizeof *c->f.value);
  c->f.deferred = calloc(g->n_values + 1, sizeof *c->f.deferred);
  c->f.last = calloc(g->n_values + 1, sizeof *c->f.last);
  c->f.bound = malloc((5 * c->f.n + 1) * sizeof *c->f.bound);
  c->f.mark = malloc((4 * c->f.n + 1) * sizeof *c->f.mark);
  c->f.near = c->f.bound + 2 * c->f.n;
  c->f.other = (clarke_branch *)(c->f.bound + 4 * c->f.n);
  c->truth = calloc(g->n_values + 1, sizeof *c->truth);
  for (size_t v = 0; v < g->n_values; v++) {
    c->f.last[v] = CLARKE_NONE;
    needed[v] = true;
  }
  if (norms && !fine) {
    OK(clarke_growths_add(&c->growths, g, needed, &error));
    c->f.growths = &c->growths;
  }
  free(needed);
}

static void
end(scene *c)
{
  for (size_t v = 0; v < c->f.g->n_values; v++) {
    clarke_enclosure_drop(&c->f.value[v]);
    clarke_enclosure_drop(&c->f.value[v]);
    free(c->truth[v]);
  }
  clarke_identities_free(c->f.ids);
  clarke_growths_clear(&c->growths);
  free(c->f.value);
  free(c->f.deferred);
  free(c->f.last);
  free(c->f.bound);
  free(c->f.mark);
  free(c->truth);
}

/* Entries, and enclosures that hold them: of some samples exactly. */
static void
draw_operand(scene *c, size_t v, uint64_t *state)
{
  clarke_enclosure *e = &c->f.value[v];
  const size_t rows = c->f.g->values[v].count, n = c->f.n;

  clarke_enclosure_drop(e);
  OK(clarke_enclosure_alloc(&c->f, e, rows));
  ck_assert(e->known && e->rows == rows);
  if (c->truth[v] == NULL)
    c->truth[v] = malloc((rows * n + 1) * sizeof **c->truth);
  for (size_t i = 0; i < rows; i++)
    e->row[i] = ldexp(1, (int)draw_between(state, -24, -4));
  for (size_t j = 0; j < n; j++)
    e->col[j] = draw_below(state, 4) == 0 ? 0 : ldexp(1, (int)draw_between(state, -3, 3));
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) {
      const double bound = e->row[i] * e->col[j], part = (double)draw_between(state, -15, 15) / 16;

      c->truth[v][i * n + j] = draw_number(state);
      e->y[i * n + j] = c->truth[v][i * n + j] + part * bound;
      if (c->f.fine)
        e->each[i * n + j] = clarke_up_float(bound);
    }
  for (size_t j = 0; j < n && e->norm != NULL; j++) {
    double squares = 0, most = 0;

    for (size_t i = 0; i < rows; i++) {
      squares += e->row[i] * e->row[i] * e->col[j] * e->col[j];
      most = fmax(most, e->row[i] * e->col[j]);
    }
    e->norm[j] = e->before[j] = sqrt(squares) * (1 + 0x1p-40);
    e->most[j] = most;
  }
}

static clarke_status
go(scene *c, const clarke_step *s, clarke_branch *piece, size_t *ties, size_t *open)
{
  switch (s->kind) {
  case CLARKE_GATHER:
    return clarke_filter_gather(&c->f, s);
  case CLARKE_SUM:
    return clarke_filter_sum(&c->f, s);
  case CLARKE_SCALE:
    return clarke_filter_scale(&c->f, s);
  case CLARKE_DENSE:
    if (!c->f.fine || s->dense.inner % 2 == 0)
      return clarke_filter_dense(&c->f, s);
    OK(clarke_enclosure_alloc(&c->f, &c->f.value[s->out], c->f.g->values[s->out].count));
    return clarke_filter_dense_fine(&c->f, s, &c->f.value[s->out]);
  case CLARKE_PRODUCT:
    return clarke_filter_product(&c->f, s);
  case CLARKE_PIECEWISE:
    return clarke_filter_piecewise(&c->f, s, piece, open);
  default:
    return clarke_filter_max(&c->f, s, piece, ties, open);
  }
}

/* The step's true entries, one sample, are in the enclosure. */
static void
check_sample(const scene *c, const clarke_step *s, steps_run *r, size_t j)
{
  const clarke_enclosure *y = &c->f.value[s->out];
  double squares = 0, most = 0;
  mpq_t off;

  mpq_init(off);
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t e = 0; !c->f.g->values[s->in[k].value].constant && e < c->f.g->values[s->in[k].value].count; e++)
      mpq_set_d(r->value[s->in[k].value][e], c->truth[s->in[k].value][e * c->f.n + j]);
  for (size_t i = 0; i < y->rows; i++) {
    const double bound = clarke_enclosure_bound_at(&c->f, y, i, j);
    double distance;

    mpq_set_ui(r->value[s->out][i], 0, 1);
    steps_one(r, s, i);
    mpq_set_d(off, y->y[i * c->f.n + j]);
    mpq_sub(off, off, r->value[s->out][i]);
    distance = fabs(mpq_get_d(off)); /* towards 0 */
    ck_assert_msg(distance <= bound, "kind %d, entry %zu: %g off, %g said", (int)s->kind, i, distance, bound);
    ck_assert_double_lt(bound, 1e4);
    squares += distance * distance;
    most = fmax(most, distance);
  }
  if (y->norm != NULL) {
    ck_assert_double_le(sqrt(squares) * (1 - 0x1p-40), y->norm[j]);
    ck_assert_double_le(most, y->most[j]);
  }
  mpq_clear(off);
}

/* A row's bounds at once are those one by one. */
static void
check_rows(const scene *c, size_t v)
{
  const clarke_enclosure *e = &c->f.value[v];

  for (size_t i = 0; i < e->rows; i++) {
    clarke_enclosure_row_bounds(&c->f, e, i, c->f.bound);
    for (size_t j = 0; j < c->f.n; j++)
      ck_assert(c->f.bound[j] == clarke_enclosure_bound_at(&c->f, e, i, j));
  }
}

/* How many places are decided, rightly. */
static size_t
check_places(const scene *c, const clarke_step *s, const clarke_branch *piece, size_t open)
{
  const size_t n = c->f.n, rows = c->f.g->values[s->out].count;
  const double *x = c->truth[s->in[0].value];
  size_t decided = 0;

  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) {
      const clarke_branch code = piece[i * n + j];

      if (code == CLARKE_OPEN)
        continue;
      decided++;
      for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < s->pieces.n_kinks; k++) {
        const double kink = mpq_get_d(s->pieces.kink[k]), at = x[i * n + j];

        ck_assert(code < 0 ? CLARKE_KINK_OF(code) != k || at == kink : (int)k < code ? at > kink : at < kink);
      }
      for (size_t k = 0; s->kind == CLARKE_MAX && k < s->width; k++) {
        const size_t here = s->in[0].map[i * s->width + k], best = s->in[0].map[i * s->width + (size_t)code];

        ck_assert(here == CLARKE_NONE || x[here * n + j] <= x[best * n + j]);
      }
    }
  ck_assert_uint_eq(decided + open, rows * n);
  return decided;
}

static size_t
check_step(scene *c, const clarke_step *s, clarke_tensor *x, uint64_t *state)
{
  const size_t count = c->f.g->values[s->out].count * c->f.n;
  clarke_branch *piece = malloc((count + 1) * sizeof *piece);
  size_t *ties = calloc(c->f.n + 1, sizeof *ties), open = 0, decided = 0;
  steps_run r;

  clarke_branches_leave(piece, count);
  for (size_t k = 0; k < s->n_in; k++)
    if (!c->f.g->values[s->in[k].value].constant)
      draw_operand(c, s->in[k].value, state);
  for (size_t e = 0; s->in[0].value == c->f.g->input && e < x->count; e++) /* feature-major here, sample-major there */
    x->real[e % c->f.n * (x->count / c->f.n) + e / c->f.n] = c->truth[c->f.g->input][e];
  c->f.step = (size_t)(s - c->f.g->steps);
  clarke_enclosure_drop(&c->f.value[s->out]);
  OK(go(c, s, piece, ties, &open));
  steps_begin(&r, c->f.g);
  for (size_t j = 0; j < c->f.n; j++)
    check_sample(c, s, &r, j);
  steps_end(&r);
  check_rows(c, s->out);
  if (clarke_step_has_kinks(s))
    decided = check_places(c, s, piece, open);
  free(piece);
  free(ties);
  return decided;
}

/* What the plain evaluator follows; of windows those of inputs, whose entries no earlier step makes alike. */
static bool
is_followed(const clarke_graph *g, const clarke_step *s)
{
  if (s->kind == CLARKE_MAX)
    return s->in[0].value == g->input;
  return s->kind != CLARKE_ANALYTIC && s->kind != CLARKE_SOFTMAX && s->kind != CLARKE_NORMALIZE && !s->root
         && (s->kind != CLARKE_PIECEWISE || s->pieces.slope == CLARKE_NONE);
}

START_TEST(steps_hold_what_may_be)
{
  uint64_t state = 1;
  size_t seen[CLARKE_PRODUCT + 1] = {0}, decided = 0;

  for (int round = 0; round < 240; round++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, draw_number, 4, true);
    clarke_graph g;
    scene c;

    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    begin(&c, &g, &x, round % 3 == 0, round % 3 == 1);
    for (size_t i = 0; i < g.n_steps; i++)
      if (is_followed(&g, &g.steps[i])) {
        decided += check_step(&c, &g.steps[i], &x, &state);
        seen[g.steps[i].kind]++;
      }
    end(&c);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  for (int kind = CLARKE_GATHER; kind <= CLARKE_PRODUCT; kind++)
    ck_assert_msg(seen[kind] > 10 || kind == CLARKE_ANALYTIC || kind == CLARKE_SOFTMAX || kind == CLARKE_NORMALIZE,
                  "kind %d: %zu steps", kind, seen[kind]);
  ck_assert_uint_gt(decided, 100);
}
END_TEST

/* --- one step by itself ---------------------------------------------------------------------- */

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
    for (size_t i = 0; i < ROWS; i++) {
      clarke_branch piece[COLUMNS];

      clarke_enclosure_row_bounds(&o.c.f, x, i, o.c.f.bound);
      for (size_t j = 0; j < COLUMNS; j++)
        piece[j] = i == 2 || o.c.f.bound[j] > 0.2 ? CLARKE_OPEN : 0;
      clarke_measure_arguments(&o.c.f, o.s, x->y + i * COLUMNS, told ? piece : NULL, i);
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

/* --- room and roundings ---------------------------------------------------------------------- */

enum { N = 3 };

static clarke_graph none;

static void
room(clarke_filter *f, clarke_enclosure value[2], size_t last[2], bool fine)
{
  memset(value, 0, 2 * sizeof *value);
  *f = (clarke_filter){.g = &none, .n = N, .fine = fine, .value = value, .last = last, .step = 4, .err = &error};
  OK(clarke_enclosure_alloc(f, &value[0], 2));
  for (size_t e = 0; e < 2 * N; e++) {
    value[0].y[e] = (double)e;
    if (fine)
      value[0].each[e] = (float)e / 8;
  }
  for (size_t k = 0; k < N; k++)
    value[0].col[k] = (double)k / 4;
  value[0].row[0] = 1;
  value[0].row[1] = 0.5;
}

START_TEST(inherited)
{
  for (int fine = 0; fine < 2; fine++) {
    clarke_enclosure value[2], kept;
    size_t last[2] = {9, 9};
    clarke_filter f;

    room(&f, value, last, fine);
    OK(clarke_enclosure_inherit(&f, &value[1], 0));
    kept = value[0];
    ck_assert(value[1].y != kept.y && value[1].known && value[1].rows == 2);
    ck_assert_mem_eq(value[1].y, kept.y, 2 * N * sizeof *kept.y);
    ck_assert_mem_eq(value[1].row, kept.row, 2 * sizeof *kept.row);
    ck_assert_mem_eq(value[1].col, kept.col, N * sizeof *kept.col);
    for (size_t e = 0; fine && e < 2 * N; e++)
      ck_assert(value[1].each[e] == kept.each[e]);
    clarke_enclosure_drop(&value[1]);
    last[0] = 4; /* no later step reads it */
    OK(clarke_enclosure_inherit(&f, &value[1], 0));
    ck_assert(value[1].y == kept.y && value[0].y == NULL && !value[0].known);
    clarke_enclosure_drop(&value[1]);
    ck_assert(value[1].y == NULL && value[1].row == NULL && value[1].each == NULL);
  }
}
END_TEST

/* Every entry's bound grows by the rounding at least: by rows where it is small beside what is there, else all alike. */
START_TEST(added_roundings)
{
  uint64_t state = 2;
  size_t by_rows = 0, alike = 0;

  for (int round = 0; round < 600; round++) {
    clarke_enclosure value[2];
    size_t last[2] = {9, 9};
    double before[2 * N], error_of[N];
    clarke_filter f;

    room(&f, value, last, round % 3 == 0);
    for (size_t j = 0; j < N; j++) {
      value[0].col[j] = draw_below(&state, 5) == 0 ? 0 : ldexp((double)draw_between(&state, 1, 7), (int)draw_between(&state, -30, 5));
      error_of[j] = draw_below(&state, 5) == 0 ? 0 : ldexp((double)draw_between(&state, 1, 7), (int)draw_between(&state, -40, 0));
    }
    for (size_t e = 0; e < 2 * N; e++)
      before[e] = f.fine ? (double)value[0].each[e] : value[0].row[e / N] * value[0].col[e % N];
    clarke_enclosure_add_rounding(&f, &value[0], error_of);
    for (size_t e = 0; e < 2 * N; e++)
      ck_assert_double_ge(clarke_enclosure_bound_at(&f, &value[0], e / N, e % N), before[e] + error_of[e % N]);
    by_rows += !f.fine && value[0].row[0] != value[0].row[1];
    alike += !f.fine && value[0].row[0] == value[0].row[1];
    clarke_enclosure_drop(&value[0]);
  }
  ck_assert(by_rows > 20 && alike > 20);
}
END_TEST

/* Bounds by hand: none is lost, of infinity and of what is no number neither. */
START_TEST(numbers)
{
  static const double code[] = {0, 2, CLARKE_OPEN, -1, CLARKE_OPEN, 1};
  clarke_branch piece[6];
  double size[] = {0, 1, 3, INFINITY};
  uint64_t state = 3;

  ck_assert(clarke_larger(1, 2) == 2 && clarke_larger(2, 1) == 2 && isnan(clarke_larger(NAN, 1)) && isnan(clarke_larger(1, NAN)));
  ck_assert(clarke_largest_of(size, 3) == 3 && clarke_largest_of(size, 0) == 0);
  ck_assert(isnan(clarke_largest_of((const double[]){1, NAN, 5}, 3)));
  ck_assert(clarke_up_float(0) > 0 && isinf(clarke_up_float(NAN)) && isinf(clarke_up_float(INFINITY)) && isinf(clarke_up_float(0x1p128)));
  for (int round = 0; round < 1000; round++) {
    const double v = ldexp((double)(draw(&state) >> 11), (int)draw_between(&state, -250, 70));

    ck_assert((double)clarke_up_float(v) >= v && (double)clarke_up_float(v) <= v * (1 + 0x1p-20) + 0x1p-139);
  }
  clarke_round_sizes(size, 4, 10);
  ck_assert(size[0] > 0 && size[1] >= 10 * U && size[1] < 11 * U && size[2] >= 30 * U && isinf(size[3]));
  ck_assert_uint_eq(clarke_store_places(piece, code, 6), 2);
  for (size_t k = 0; k < 6; k++)
    ck_assert_int_eq(piece[k], (int)code[k]);
  ck_assert_uint_eq(clarke_store_places(piece, code, 2), 0);
  ck_assert(clarke_branches_open(piece, 6) && !clarke_branches_open(piece, 2) && !clarke_branches_open(piece, 0));
}
END_TEST

/* By rows and columns alone: at least the norm of the largest errors, and of each entry's. */
START_TEST(norms_of_rows)
{
  uint64_t state = 4;
  clarke_growths growths = {0};

  for (int round = 0; round < 200; round++) {
    clarke_enclosure value[2];
    size_t last[2] = {9, 9};
    clarke_filter f;

    room(&f, value, last, false);
    f.growths = &growths;
    clarke_enclosure_drop(&value[0]);
    OK(clarke_enclosure_alloc(&f, &value[0], 2));
    for (size_t j = 0; j < N; j++)
      value[0].col[j] = ldexp((double)draw_below(&state, 8), (int)draw_between(&state, -30, 5));
    for (size_t i = 0; i < 2; i++)
      value[0].row[i] = ldexp((double)draw_below(&state, 8), (int)draw_between(&state, -9, 3));
    clarke_norms_of_rows(&f, &value[0]);
    for (size_t j = 0; j < N; j++) {
      const double a = value[0].row[0] * value[0].col[j], b = value[0].row[1] * value[0].col[j];

      ck_assert(value[0].most[j] >= fmax(a, b) && value[0].most[j] <= fmax(a, b) * (1 + 0x1p-20) + 0x1p-499);
      ck_assert(value[0].norm[j] >= hypot(a, b) * (1 - 0x1p-50) && value[0].norm[j] <= fmax(a, b) * sqrt(2) * (1 + 0x1p-20) + 0x1p-498);
    }
    clarke_enclosure_drop(&value[0]);
  }
}
END_TEST

MODULE(filter_steps)
{
  TCase *tests = tests_of("steps of a filter");

  tcase_add_test(tests, steps_hold_what_may_be);
  tcase_add_test(tests, inherited);
  tcase_add_test(tests, added_roundings);
  tcase_add_test(tests, numbers);
  tcase_add_test(tests, norms_of_rows);
  tcase_add_test(tests, normalized);
  tcase_add_test(tests, norms_of_products);
  tcase_add_test(tests, norms_of_sums_and_pieces);
  tcase_add_test(tests, distances_of_arguments);
  tcase_add_test(tests, distances_of_windows);
  return all_tests;
}
