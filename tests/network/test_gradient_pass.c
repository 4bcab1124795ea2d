/* Parts of a gradient in pairs: factors, lines, winners of windows, how often entries are taken, and what terms add to bounds; and when
 * a graph is deep. Beside the definitions of steps. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"

#include "network/pass/linear.h"
#include "network/graph/build.h"
#include "network/derive/gradient/analytic.h"
#include "network/derive/gradient/constants.h"
#include "network/derive/gradient/plan.h"
#include "network/derive/gradient/softmax.h"
#include "network/replay/replay_inside.h"
#include "network/pass/softmax.h"

#include <math.h>

static double
draw_number(uint64_t *state)
{
  return (double)draw_between(state, -12, 12) / 4;
}

typedef struct {
  growing grown;
  clarke_graph g;
  clarke_tensor x;
} scene;

static void
begin(scene *c, uint64_t *state, bool quotients)
{
  c->x = grow_any(&c->grown, state, draw_number, 6, false, quotients, true);
  clarke_graph_init(&c->g);
  OK(clarke_graph_build(&c->g, &c->grown.m, &c->x, &error));
}

static void
end(scene *c)
{
  clarke_graph_clear(&c->g);
  clarke_tensor_clear(&c->x);
  clarke_model_clear(&c->grown.m);
}

/* |x - exact| <= the pairs' unit of it. */
static void
check_pair(clarke_pair x, mpq_t exact)
{
  mpq_t off, low;

  mpq_inits(off, low, NULL);
  mpq_set_d(off, x.high);
  mpq_set_d(low, x.low);
  mpq_add(off, off, low);
  mpq_sub(off, off, exact);
  mpq_abs(off, off);
  mpq_abs(low, exact);
  mpq_div_2exp(low, low, 103);
  ck_assert(mpq_cmp(off, low) <= 0);
  mpq_clears(off, low, NULL);
}

START_TEST(factors_and_lines)
{
  uint64_t state = 1;
  size_t factors = 0, lines = 0;
  mpq_t exact;

  mpq_init(exact);
  for (int round = 0; round < 200; round++) {
    scene c;

    begin(&c, &state, round % 2 == 0);
    for (size_t i = 0; i < c.g.n_steps; i++) {
      const clarke_step *s = &c.g.steps[i];

      if (s->kind == CLARKE_SCALE && !s->root) {
        clarke_pair *factor = clarke_scale_factors(&c.g, s);

        for (size_t f = 0; f < c.g.values[s->out].count; f++) {
          mpq_set_d(exact, c.g.values[s->in[1].value].real[clarke_operand_entry(&s->in[1], f)]);
          if (s->divide)
            mpq_inv(exact, exact);
          check_pair(factor[f], exact);
        }
        free(factor);
        factors++;
      }
      if (s->kind == CLARKE_PIECEWISE) {
        const clarke_lines l = clarke_lines_of(&c.g, s);

        for (size_t p = 0; p <= s->pieces.n_kinks; p++)
          for (size_t f = 0; f < c.g.values[s->out].count; f++) {
            const size_t own = s->pieces.slope;

            mpq_set(exact, s->pieces.coef[p][0]);
            check_pair(l.constant[p], exact);
            if (p == 0 && own != CLARKE_NONE)
              mpq_set_d(exact, c.g.values[own].real[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f]);
            else
              mpq_set(exact, s->pieces.coef[p][1]);
            check_pair(clarke_line_slope(&l, &c.g, s, p, f), exact);
            ck_assert_double_ge(l.steepest, fabs(mpq_get_d(exact)));
            ck_assert_double_ge(l.largest, fabs(mpq_get_d(s->pieces.coef[p][0])));
          }
        lines++;
      }
    }
    end(&c);
  }
  mpq_clear(exact);
  ck_assert(factors > 20 && lines > 50);
}
END_TEST

/* How often a step takes the entry that it takes most, by its operands one after another. */
START_TEST(entries_taken)
{
  uint64_t state = 2;
  size_t often = 0;

  for (int round = 0; round < 200; round++) {
    scene c;

    begin(&c, &state, false);
    for (size_t i = 0; i < c.g.n_steps; i++) {
      const clarke_step *s = &c.g.steps[i];
      const size_t reads = c.g.values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);

      if (s->kind != CLARKE_GATHER && s->kind != CLARKE_SUM && s->kind != CLARKE_MAX)
        continue;
      for (size_t k = 0; k < s->n_in; k++) {
        size_t most = 77, expected = 0;

        for (size_t e = 0; e < c.g.values[s->in[k].value].count; e++) {
          size_t n = 0;

          for (size_t l = 0; l < s->n_in; l++)
            for (size_t f = 0; f < reads && s->in[l].value == s->in[k].value; f++)
              n += (s->in[l].map != NULL ? s->in[l].map[f] : f) == e;
          expected = n > expected ? n : expected;
        }
        OK(clarke_most_taken(&most, &c.g, s, s->in[k].value, &error));
        ck_assert_uint_eq(most, expected);
        often += most > 1;
      }
    }
    end(&c);
  }
  ck_assert_uint_gt(often, 10);
}
END_TEST

/* Of a window the first of its largest entries: networks of one pool over inputs, ties among them. */
START_TEST(winners)
{
  uint64_t state = 3;

  for (int round = 0; round < 150; round++) {
    clarke_model m;
    clarke_graph g;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2, 1, 3, 4, ));
    clarke_replay r;
    const size_t n = 1 + draw_below(&state, 2); /* of two samples */
    const clarke_gradient_pass p = {.r = &r, .g = &g, .n = n, .lanes = n};
    size_t *from, step = 0;
    const clarke_step *s;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 1, 3, 4, ));
    model_node(&m, "MaxPool", "x", "y");
    attr_ints(&m.nodes[0], "kernel_shape", SHAPE(2, 2, ));
    attr_ints(&m.nodes[0], "pads", SHAPE(1, 0, 0, 1, ));
    model_output(&m, "y");
    for (size_t e = 0; e < x.count; e++)
      x.real[e] = (double)draw_between(&state, -1, 1);
    clarke_graph_init(&g);
    clarke_replay_init(&r);
    OK(clarke_graph_build(&g, &m, &x, &error));
    OK(clarke_graph_wrt(&g, NULL, 0, &error));
    OK(clarke_replay_run(&r, NULL, &g, &x, true, 1, &error));
    while (g.steps[step].kind != CLARKE_MAX)
      step++;
    s = &g.steps[step];
    from = clarke_winners(&p, step);
    for (size_t f = 0; f < g.values[s->out].count; f++)
      for (size_t j = 0; j < n; j++) {
        size_t best = CLARKE_NONE;

        for (size_t k = 0; k < s->width; k++) {
          const size_t e = s->in[0].map[f * s->width + k];

          if (e != CLARKE_NONE && (best == CLARKE_NONE || x.real[j * 12 + e] > x.real[j * 12 + best]))
            best = e;
        }
        ck_assert_uint_eq(from[f * n + j], best);
      }
    free(from);
    clarke_replay_clear(&r);
    clarke_graph_clear(&g);
    clarke_model_clear(&m);
    clarke_tensor_clear(&x);
  }
}
END_TEST

/* Two samples, in one lane or two; the bounds of a gradient of three entries, in pairs or doubles, and of what joins it. */
typedef struct {
  clarke_value values[2];
  clarke_graph g;
  bool fine[2];
  clarke_gradient_plan plan;
  clarke_normed grad[2], from;
  clarke_gradient_pass p;
  double size[2], off[2]; /* as they were */
} noting;

static void
begin_noting(noting *c, uint64_t *state)
{
  *c = (noting){.values = {{.count = 3}, {.count = 4}}, .g = {.n_values = 2, .values = c->values},
                .fine = {draw_below(state, 2), false}, .plan = {.fine_back = c->fine}};
  c->p = (clarke_gradient_pass){.g = &c->g, .n = 2, .lanes = 1 + draw_below(state, 2), .plan = &c->plan, .grad = c->grad, .err = &error};
  OK(clarke_note_begin(&c->p, 0));
  ck_assert(c->grad[0].at != NULL && c->grad[0].at[5] == 0 && c->grad[0].size[1] == 0 && c->grad[0].error[1] == 0);
  ck_assert((c->grad[0].low != NULL) == c->fine[0]);
  OK(clarke_normed_make(&c->from, 4, 2, draw_below(state, 2), &error));
  for (size_t j = 0; j < c->p.lanes; j++) {
    c->size[j] = c->grad[0].size[j] = (double)draw_below(state, 5);
    c->off[j] = c->grad[0].error[j] = ldexp((double)draw_below(state, 5), -20);
    c->from.size[j] = (double)draw_below(state, 5);
    c->from.error[j] = ldexp((double)draw_below(state, 5), -20);
  }
}

/* The bounds are the ones that were and the term's, and what so many additions take. */
static void
check_noted(const noting *c, double grow, double mass, double part, double lost, size_t repeats)
{
  for (size_t j = 0; j < c->p.lanes; j++) {
    const double n = c->size[j] + mass * c->from.size[j] + lost;
    const double e = c->off[j] + grow * c->from.error[j] + part * c->from.size[j] + lost +
                     clarke_bound_gamma((double)repeats + 1, clarke_unit_of(&c->grad[0])) * n;

    ck_assert(c->grad[0].error[j] >= e * (1 - 0x1p-50) && c->grad[0].error[j] <= e * (1 + 0x1p-15) + 0x1p-800);
    ck_assert(c->grad[0].size[j] >= n * (1 - 0x1p-50) && c->grad[0].size[j] <= n * (1 + 0x1p-15) + 0x1p-800);
  }
}

static void
end_noting(noting *c)
{
  clarke_normed_drop(&c->from);
  clarke_normed_drop(&c->grad[0]);
}

/* A term's bounds join those that are there: the gradient's own size and error are below them. */
START_TEST(noted_terms)
{
  uint64_t state = 4;

  for (int round = 0; round < 300; round++) {
    const double grow = (double)draw_between(&state, 0, 8) / 2, mass = grow + 1, part = ldexp(1, -20), lost = ldexp(1, -30);
    noting c;

    begin_noting(&c, &state);
    clarke_note_term(&c.p, 0, &c.from, grow, mass, part, lost, 3);
    check_noted(&c, grow, mass, part, lost, 3);
    OK(clarke_note_begin(&c.p, 0)); /* what is there stays */
    ck_assert(c.grad[0].error[0] > 0);
    end_noting(&c);
  }
}
END_TEST

/* Of a step with one operand: an entry is added to as often as it is taken. */
START_TEST(noted_operands)
{
  uint64_t state = 5;

  for (int round = 0; round < 100; round++) {
    size_t map[4] = {1, draw_below(&state, 2), 2, 1};
    clarke_operand in = {.value = 0, .map = map, .coef = 1};
    const clarke_step s = {.kind = CLARKE_GATHER, .in = &in, .n_in = 1, .out = 1};
    const double grow = (double)draw_between(&state, 0, 8) / 2;
    noting c;

    begin_noting(&c, &state);
    OK(clarke_note_operand(&c.p, &s, &c.from, grow, 0x1p-20, 0));
    check_noted(&c, grow, grow, 0x1p-20, 0, map[1] == 1 ? 3 : 2);
    end_noting(&c);
  }
}
END_TEST

/* A constant's entries join those of its parameter, by their origin; the bound grows by as many errors as one entry has. */
START_TEST(noted_constants)
{
  size_t origin[3] = {1, 0, 1};
  clarke_value values[1] = {{.constant = true, .count = 3, .parameter = 0, .origin = origin}};
  clarke_parameter parameters[1] = {{.count = 2}};
  clarke_graph g = {.n_values = 1, .values = values, .n_parameters = 1, .parameters = parameters};
  clarke_gradient gradient;
  double *low[1] = {NULL};
  clarke_gradient_pass p = {.g = &g, .n = 1, .gradient = &gradient, .low = low, .err = &error};
  const clarke_pair entries[] = {{1, 0x1p-60}, {2, 0}, {4, 0}};

  OK(clarke_gradient_init(&gradient, 1, &error));
  OK(clarke_note_constant(&p, 0, entries, 0x1p-40));
  ck_assert(gradient.entry[0][0] == 2 && gradient.entry[0][1] == 5 && low[0][1] == 0x1p-60 && low[0][0] == 0);
  ck_assert(gradient.within[0] >= 0x1p-39 && gradient.within[0] < 0x1p-39 * (1 + 0x1p-10));
  OK(clarke_note_constant(&p, 0, entries, 0));
  ck_assert(gradient.entry[0][0] == 4 && gradient.entry[0][1] == 10 && low[0][1] == 0x1p-59);
  ck_assert(gradient.within[0] >= 0x1p-39 && gradient.within[0] < 0x1p-39 * (1 + 0x1p-10));
  free(low[0]);
  clarke_gradient_clear(&gradient);
}
END_TEST

/* Of a sum's constant, and of factors: what meets an entry, over samples, and how far it may be off. */
START_TEST(shares_of_constants)
{
  uint64_t state = 6;

  for (int round = 0; round < 300; round++) {
    const bool factors = round % 2;
    size_t map[4] = {0, draw_below(&state, 2), factors || draw(&state) & 1 ? 1 : CLARKE_NONE, 0};
    clarke_operand in[2] = {{.value = factors ? 1 : 0, .map = factors ? NULL : map, .coef = factors ? 1 : -2},
                            {.value = factors ? 0 : 1, .map = factors ? map : NULL, .coef = 1}};
    clarke_value values[3] = {{.constant = true, .count = 2, .parameter = 0}, {.count = 4}, {.count = 4}};
    clarke_step s = {.kind = factors ? CLARKE_SCALE : CLARKE_SUM, .in = in, .n_in = 2, .out = 2};
    clarke_parameter parameters[1] = {{.count = 2}};
    clarke_graph g = {.n_values = 3, .values = values, .n_steps = 1, .steps = &s, .n_parameters = 1, .parameters = parameters, .output = 2};
    clarke_gradient gradient;
    double *low[1] = {NULL}, is[2] = {0}, off = 0;
    clarke_normed of[3] = {{0}}, *x = &of[1], *y = &of[2];
    const bool lanes = draw(&state) & 1;
    clarke_gradient_pass p = {.g = &g, .n = 3, .lanes = lanes ? 3 : 1, .value = of, .gradient = &gradient, .low = low, .err = &error};
    const size_t most = 2 + (map[1] == 0);

    OK(clarke_gradient_init(&gradient, 1, &error));
    for (size_t v = 1; v < 3; v++) {
      OK(clarke_normed_make(&of[v], 4, 3, draw(&state) & 1, &error));
      for (size_t e = 0; e < 12; e++)
        of[v].at[e] = (double)draw_between(&state, -50, 50);
      clarke_normed_measure(&of[v], 4, 3, p.lanes);
      for (size_t j = 0; j < p.lanes; j++)
        of[v].error[j] = ldexp((double)draw_below(&state, 9), -20);
    }
    for (size_t e = 0; e < 12; e++)
      if (map[e / 3] != CLARKE_NONE)
        is[map[e / 3]] += factors ? x->at[e] * y->at[e] : -2 * y->at[e];
    for (size_t j = 0; j < p.lanes; j++)
      off += factors ? y->error[j] * x->size[j] + (y->size[j] + y->error[j]) * x->error[j]
                     : 2 * sqrt((double)most * (lanes ? 1 : 3)) * y->error[j];
    OK(factors ? clarke_scale_constant(&p, &s, y) : clarke_sum_constant(&p, &s, 0, y));
    ck_assert(gradient.entry[0][0] == is[0] && gradient.entry[0][1] == is[1] && low[0][0] == 0 && low[0][1] == 0);
    ck_assert_double_ge(gradient.within[0], off);
    ck_assert_double_le(gradient.within[0], 1.01 * off + 0x1p-70);
    clarke_normed_drop(x);
    clarke_normed_drop(y);
    free(low[0]);
    clarke_gradient_clear(&gradient);
  }
}
END_TEST

/* What the way back does not read is dropped: values, or low parts alone. */
START_TEST(settled_values)
{
  clarke_graph g = {.n_values = 4, .output = 3};
  bool kept[4] = {false, true, true, false}, whole[4] = {false, false, true, true};
  clarke_normed value[4] = {{0}};
  clarke_gradient_pass p = {.g = &g, .n = 2, .lanes = 2, .kept = kept, .whole = whole, .value = value, .err = &error};

  for (size_t v = 0; v < 4; v++) {
    OK(clarke_normed_make(&value[v], 3, 2, true, &error));
    value[v].at[5] = 7;
    clarke_value_settle(&p, v);
    ck_assert((value[v].at == NULL) == (v == 0) && (value[v].low != NULL) == (v >= 2));
    ck_assert(v == 0 || value[v].at[5] == 7);
    clarke_normed_drop(&value[v]);
  }
}
END_TEST

/* One line that is x, or whose slope is 1, and others 0. */
START_TEST(lines_taken)
{
  clarke_step s = {.pieces = {.n_kinks = 2, .slope = CLARKE_NONE}};
  clarke_lines l = {.slope = {{0, 0}, {1, 0}, {0, 0}}};

  ck_assert(clarke_line_taken(&l, &s, false) == 1 && clarke_line_taken(&l, &s, true) == 1);
  l.constant[2].high = 6;
  ck_assert(clarke_line_taken(&l, &s, false) == CLARKE_NONE && clarke_line_taken(&l, &s, true) == 1);
  s.pieces.slope = 0;
  ck_assert(clarke_line_taken(&l, &s, true) == CLARKE_NONE);
  s.pieces.slope = CLARKE_NONE;
  l.slope[0].high = 0.25;
  ck_assert(clarke_line_taken(&l, &s, true) == CLARKE_NONE);
  l.slope[0] = (clarke_pair){1, 0};
  ck_assert(clarke_line_taken(&l, &s, true) == CLARKE_NONE);
  l.slope[1].high = 0;
  ck_assert(clarke_line_taken(&l, &s, true) == 0);
  l.slope[0].low = 0x1p-80;
  ck_assert(clarke_line_taken(&l, &s, true) == CLARKE_NONE);
}
END_TEST

/* Doubles become the gradient's where they are its only share, entry for entry, and join it otherwise. */
START_TEST(noted_doubles)
{
  size_t origin[2] = {1, 1};
  clarke_value values[2] = {{.constant = true, .count = 2, .parameter = 0},
                            {.constant = true, .count = 2, .parameter = 0, .origin = origin}};
  clarke_parameter parameters[1] = {{.count = 2}};
  clarke_graph g = {.n_values = 2, .values = values, .n_parameters = 1, .parameters = parameters};

  for (size_t first = 0; first < 2; first++) {
    clarke_gradient gradient;
    double *low[1] = {NULL}, *entries = malloc(2 * sizeof *entries), *more = malloc(2 * sizeof *more);
    clarke_gradient_pass p = {.g = &g, .n = 1, .gradient = &gradient, .low = low, .err = &error};

    entries[0] = 1;
    entries[1] = 2;
    more[0] = 0x1p60;
    more[1] = 3;
    OK(clarke_gradient_init(&gradient, 1, &error));
    OK(clarke_note_doubles(&p, first, entries, 0x1p-40));
    ck_assert(first == 1 || (gradient.entry[0] == entries && gradient.within[0] == 0x1p-40 && low[0] == NULL));
    ck_assert(first == 0 || (gradient.entry[0][0] == 0 && gradient.entry[0][1] == 3 && gradient.within[0] >= 0x1p-39));
    OK(clarke_note_doubles(&p, 0, more, 0x1p-30));
    ck_assert(gradient.entry[0][0] == 0x1p60 && low[0][0] == (first == 0 ? 1 : 0));
    ck_assert(gradient.entry[0][1] == (first == 0 ? 5 : 6) && low[0][1] == 0);
    ck_assert(gradient.within[0] >= 0x1p-40 + 0x1p-30 && gradient.within[0] < 0x1p-30 * 1.01);
    free(low[0]);
    clarke_gradient_clear(&gradient);
  }
}
END_TEST

/* The first samples, of numbers or integers, features one after another. */
START_TEST(inputs)
{
  for (size_t n = 1; n <= 3; n++)
    for (int real = 0; real < 2; real++) {
      clarke_tensor x = tensor_of("x", real ? CLARKE_F64 : CLARKE_I64, SHAPE(3, 2, ));
      clarke_value values[1] = {{.count = 2}};
      clarke_graph g = {.n_values = 1, .values = values, .input = 0};
      const clarke_replay r = {.g = &g, .samples = 3, .x = &x};
      clarke_normed value[1] = {{0}};
      clarke_gradient_sizes seen = {0};
      clarke_gradient_pass p = {.r = &r, .g = &g, .n = n, .lanes = n, .seen = &seen, .value = value, .err = &error};

      OK(clarke_gradient_sizes_init(&seen, &g, &error));
      for (size_t e = 0; e < 6; e++)
        if (real)
          x.real[e] = 1 - (double)e;
        else
          x.integer[e] = 1 - (int64_t)e;
      OK(clarke_gradient_pass_load_input(&p));
      for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < n; j++)
          ck_assert(value[0].at[i * n + j] == 1 - (double)(j * 2 + i));
      for (size_t j = 0; j < n; j++)
        ck_assert(value[0].size[j] >= hypot(value[0].at[j], value[0].at[n + j]) && value[0].error[j] == 0);
      ck_assert(value[0].low == NULL && seen.value[0] == clarke_normed_size(&p, &value[0]));
      ck_assert(seen.value_most[0] == value[0].largest && value[0].largest == fmax(1, 2 * (double)n - 2));
      clarke_normed_drop(&value[0]);
      clarke_gradient_sizes_clear(&seen);
      clarke_tensor_clear(&x);
    }
}
END_TEST

/* x + b, normalized: b's gradient is 0 where it moves whole groups, of all that read the sum. */
START_TEST(constants_that_cancel)
{
  for (int way = 0; way < 6; way++) {
    size_t by_group[] = {0, 0, 1, 1}, by_entry[] = {0, 1, 1, 1}, missing[] = {0, 0, CLARKE_NONE, CLARKE_NONE};
    clarke_value values[] = {{.count = 4}, {.count = 2, .constant = true}, {.count = 4}, {.count = 4}, {.count = 4}};
    clarke_operand sum[] = {{.value = 0, .coef = 1}, {.value = 1, .coef = 3, .map = by_group}};
    clarke_operand read[] = {{.value = 2, .coef = 1}}, other[] = {{.value = 2, .coef = 1}};
    clarke_step steps[] = {{.kind = CLARKE_SUM, .in = sum, .n_in = 2, .out = 2},
                           {.kind = CLARKE_NORMALIZE, .in = read, .n_in = 1, .out = 3, .grouping = {1, 2, 2, true}},
                           {.kind = CLARKE_NORMALIZE, .in = other, .n_in = 1, .out = 4, .grouping = {1, 2, 2, false}}};
    clarke_graph g = {.n_values = 5, .values = values, .n_steps = 3, .steps = steps, .output = 4};
    bool cancels = way % 2 == 0;

    sum[1].map = way == 1 ? by_entry : way == 4 ? missing : by_group;
    if (way == 2)
      steps[2].kind = CLARKE_GATHER;
    if (way == 3)
      g.output = 2;
    if (way == 5)
      steps[2].grouping = (clarke_grouping){1, 1, 4, true};
    OK(clarke_operand_cancels(&cancels, &g, &steps[0], 1, &error));
    ck_assert_msg(cancels == (way == 0 || way == 4), "%d", way);
    OK(clarke_operand_cancels(&cancels, &g, &steps[0], 0, &error));
    ck_assert(!cancels); /* no constant */
  }
}
END_TEST

/* Functions whose slopes have bounds everywhere. */
START_TEST(functions_that_are_followed)
{
  for (clarke_function f = CLARKE_SIGMOID; f <= CLARKE_LOG; f++) {
    const clarke_step s = {.kind = CLARKE_ANALYTIC, .function = f};
    const bool none = f == CLARKE_EXP || f == CLARKE_RECIPROCAL || f == CLARKE_SQRT || f == CLARKE_LOG;

    ck_assert(clarke_analytic_is_followed(&s) != none);
  }
}
END_TEST

/* Pairs are balls exactly; a ball is a pair but for what is said. */
START_TEST(balls)
{
  uint64_t state = 6;
  arb_t ball, back;

  arb_init(ball);
  arb_init(back);
  for (int round = 0; round < 500; round++) {
    const double high = draw_number(&state) + ldexp(1, -(int)draw_below(&state, 40));
    const clarke_pair x = {high, high * ldexp(1, -54 - (int)draw_below(&state, 40))};
    double off;
    clarke_pair y;

    clarke_ball_of_pair(ball, x);
    y = clarke_pair_of_ball(&off, ball);
    ck_assert(arb_is_exact(ball) && y.high == x.high && y.low == x.low && off <= fabs(high) * 0x1p-103 + 0x1p-890);
    arb_div_ui(ball, ball, 3, 300);
    y = clarke_pair_of_ball(&off, ball);
    clarke_ball_of_pair(back, y);
    mag_set_d(arb_radref(back), off);
    ck_assert(arb_contains(back, ball));
    mag_set_ui(arb_radref(ball), 2);
    clarke_pair_of_ball(&off, ball);
    ck_assert(off >= 2);
    arb_pos_inf(ball);
    clarke_pair_of_ball(&off, ball);
    ck_assert(off == INFINITY);
  }
  arb_clear(ball);
  arb_clear(back);
}
END_TEST

/* Probabilities beside their definition, and the growth of errors beside the norm of the derivative where that is largest. */
START_TEST(probabilities)
{
  for (size_t n = 1; n < 6; n++) {
    const clarke_step plain = {.kind = CLARKE_SOFTMAX, .length = n}, logarithm = {.kind = CLARKE_SOFTMAX, .length = n, .log = true};
    arb_ptr ball = _arb_vec_init((long)(2 * n));
    double sum = 0;

    for (size_t i = 0; i < n; i++)
      arb_set_d(ball + 2 * i, (double)i / 3);
    for (size_t i = 0; i < n; i++)
      sum += exp((double)i / 3);
    clarke_softmax_balls(ball, n, 2, n % 2, 100);
    for (size_t i = 0; i < n; i++) {
      const double p = exp((double)i / 3) / sum, found = arf_get_d(arb_midref(ball + 2 * i), ARF_RND_NEAR);

      ck_assert(fabs(found - (n % 2 ? log(p) : p)) < 1e-14 && arb_is_zero(ball + 2 * i + 1));
    }
    _arb_vec_clear(ball, (long)(2 * n));
    ck_assert(clarke_softmax_growth(&plain) >= 0.5 && clarke_softmax_growth(&logarithm) >= 1 + sqrt((double)n));
    ck_assert(clarke_softmax_bend(&plain) >= 1.5 && clarke_softmax_bend(&logarithm) >= sqrt((double)n) / 2);
  }
}
END_TEST

/* --- depth ----------------------------------------------------------------------------------- */

START_TEST(deep_graphs)
{
  clarke_step steps[80];
  clarke_value values[1] = {{.count = 1}};
  clarke_graph g = {.values = values, .n_values = 1, .steps = steps};
  bool needed[1] = {true};
  double norms, products;
  size_t least = 0;

  memset(steps, 0, sizeof steps);
  for (size_t i = 0; i < 80; i++)
    steps[i] = (clarke_step){.kind = CLARKE_DENSE, .dense = {.blocks = 2, .outer = 3, .inner = 4, .repeat = 5}};
  for (g.n_steps = 0; g.n_steps <= 80 && !clarke_replay_is_deep(&g); g.n_steps++) {
  }
  least = g.n_steps;
  ck_assert(least > 1 && least < 80);
  steps[0].kind = CLARKE_SUM;
  ck_assert(!clarke_replay_is_deep(&g)); /* one product less */
  steps[0].kind = CLARKE_NORMALIZE;
  ck_assert(clarke_replay_is_deep(&g));
  steps[0].kind = CLARKE_DENSE;
  g.n_steps = 2;
  clarke_growths_cost(&norms, &products, &g, needed, 7);
  ck_assert(products == 2 * 2 * 5 * 7 * 12.0 && norms == 2 * (9 * 4 / 4.0 + 27 / 2.0));
  steps[0].dense.grouped = true;
  steps[1].kind = CLARKE_SUM;
  clarke_growths_cost(&norms, &products, &g, needed, 1);
  ck_assert(products == 2 * 5 * 12.0 && norms == 2 * (9 * 4 / 4.0 + 27 / 2.0));
  needed[0] = false;
  clarke_growths_cost(&norms, &products, &g, needed, 1);
  ck_assert(products == 0 && norms == 0);
}
END_TEST

MODULE(gradient_pass)
{
  TCase *tests = tests_of("parts of a gradient");

  tcase_add_test(tests, factors_and_lines);
  tcase_add_test(tests, entries_taken);
  tcase_add_test(tests, winners);
  tcase_add_test(tests, noted_terms);
  tcase_add_test(tests, noted_operands);
  tcase_add_test(tests, noted_constants);
  tcase_add_test(tests, noted_doubles);
  tcase_add_test(tests, shares_of_constants);
  tcase_add_test(tests, lines_taken);
  tcase_add_test(tests, settled_values);
  tcase_add_test(tests, inputs);
  tcase_add_test(tests, balls);
  tcase_add_test(tests, probabilities);
  tcase_add_test(tests, constants_that_cancel);
  tcase_add_test(tests, functions_that_are_followed);
  tcase_add_test(tests, deep_graphs);
  return all_tests;
}
