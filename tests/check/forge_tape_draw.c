/* Drawn tapes: a layer of sums with weights, then kinks, ties, products and sums, most of them of numbers alone. Much is 0. */
#include "forge_tape_draw.h"
#include "../draw.h"
#include "check/base/allocate.h"
#include "check/smooth/smooth_steps.h"

#include <string.h>

const char *const kinked_names[KINKED] = {"Abs", "Clip", "PRelu", "Relu", "Square"};
const char *const tied_names[TIED] = {"MaxPool", "ReduceMax"};
const size_t kinked_count[KINKED] = {1, 2, 1, 1, 1};

/* Slopes of the operators' pieces; of PRelu's first a weight. Square has a parabola on its right. */
static const double slopes[KINKED][3] = {{-1, 1, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}};

static bool
one_in(uint64_t *state, size_t n)
{
  return draw_below(state, n) == 0;
}

/* ---- Drawing */

static double
draw_coefficient(uint64_t *state)
{
  static const double all[] = {1, 1, 1, -1, -1, -1, 2, -2, 0.5, 3};

  return all[draw_below(state, 10)];
}

static plain_step *
add_step(plain_tape *t, plain_kind of, size_t n, size_t width)
{
  plain_step *st = &t->step[t->n_steps++];

  memset(st, 0, sizeof *st);
  st->kind = of;
  st->n = n;
  st->width = width;
  for (size_t f = 0; f < n; f++)
    for (size_t i = 0; i < width; i++)
      st->term[f][i] = (plain_term){1, -1, -1, 0};
  return st;
}

/* A feature of the step before, seldom of an earlier one. */
static void
draw_source(const plain_tape *t, plain_term *of, uint64_t *state)
{
  of->step = (int)t->n_steps - 2;
  if (of->step > 1 && one_in(state, 5))
    of->step = 1 + draw_int(state, of->step);
  of->from = draw_int(state, (int)t->step[of->step].n);
}

/* Sums of inputs, each times a weight. */
static void
draw_first(plain_tape *t, uint64_t *state)
{
  plain_step *st = add_step(t, PLAIN_SUM, 2 + draw_below(state, 3), 2 + draw_below(state, 2));

  for (size_t f = 0; f < st->n; f++)
    for (size_t i = 0; i < st->width; i++) {
      plain_term *of = &st->term[f][i];

      of->coef = draw_coefficient(state);
      of->step = one_in(state, 3) ? -1 : 0;
      of->from = of->step == 0 ? draw_int(state, (int)t->step[0].n) : 0;
      of->w = one_in(state, 12) ? -1 : draw_int(state, one_in(state, 8) ? (int)t->n_weights : (int)t->n_moving);
    }
}

/* Of numbers; where it is told so, of weights, too. */
static void
draw_sum(plain_tape *t, size_t n, bool weighs, uint64_t *state)
{
  plain_step *st = add_step(t, PLAIN_SUM, n, 1 + draw_below(state, TAPE_WIDTH));

  for (size_t f = 0; f < n; f++)
    for (size_t i = 0; i < st->width; i++) {
      plain_term *of = &st->term[f][i];

      of->coef = draw_coefficient(state);
      draw_source(t, of, state);
      if (one_in(state, 9))
        *of = (plain_term){of->coef, -1, -1, 0};
      if (weighs && one_in(state, 3))
        of->w = draw_int(state, (int)t->n_weights);
    }
}

static void
draw_pieces(plain_tape *t, uint64_t *state)
{
  const size_t op = one_in(state, 2) ? 3 : draw_below(state, KINKED);
  plain_step *st = add_step(t, PLAIN_PIECES, 1 + draw_below(state, 3), 1);

  st->op = op;
  st->n_kinks = kinked_count[op];
  st->at[0] = op == 1 ? -1 : 0;
  st->at[1] = 1;
  for (size_t p = 0; p <= st->n_kinks; p++)
    st->piece[p][1] = slopes[op][p];
  if (op == 1) {
    st->piece[0][0] = -1;
    st->piece[2][0] = 1;
  }
  st->piece[1][2] = op == 4;
  for (size_t f = 0; f < st->n; f++) {
    draw_source(t, &st->term[f][0], state);
    if (op == 2)
      st->term[f][0].w = draw_int(state, one_in(state, 3) ? (int)t->n_moving : (int)t->n_weights);
  }
}

/* Entries of one step. */
static void
draw_largest(plain_tape *t, uint64_t *state)
{
  plain_step *st = add_step(t, PLAIN_LARGEST, 1 + draw_below(state, 2), 2 + draw_below(state, 2));
  plain_term of;

  st->op = draw_below(state, TIED);
  draw_source(t, &of, state);
  for (size_t f = 0; f < st->n; f++)
    for (size_t i = 0; i < st->width; i++)
      st->term[f][i] = (plain_term){1, -1, of.step, draw_int(state, (int)t->step[of.step].n)};
}

static void
draw_products(plain_tape *t, uint64_t *state)
{
  plain_step *st = add_step(t, PLAIN_PRODUCT, 1 + draw_below(state, 2), 2);

  for (size_t f = 0; f < st->n; f++)
    for (size_t i = 0; i < 2; i++) {
      plain_term *of = &st->term[f][i];

      draw_source(t, of, state);
      if (one_in(state, 3)) {
        of->step = 0;
        of->from = draw_int(state, (int)t->step[0].n);
      }
    }
}

static void
draw_function(plain_tape *t, uint64_t *state)
{
  plain_step *st = add_step(t, one_in(state, 2) ? PLAIN_RECIPROCAL : PLAIN_EXP, 1 + draw_below(state, 2), 1);

  for (size_t f = 0; f < st->n; f++)
    draw_source(t, &st->term[f][0], state);
}

static void
draw_inner(plain_tape *t, uint64_t *state)
{
  switch (draw_below(state, 16)) {
  case 0:
  case 1: draw_largest(t, state); break;
  case 2: draw_products(t, state); break;
  case 3:
  case 4:
  case 5: draw_sum(t, 1 + draw_below(state, 3), one_in(state, 4), state); break;
  case 6:
    draw_function(t, state);
    break;
  default: draw_pieces(t, state); break;
  }
}

static void
draw_statement(plain_tape *t, uint64_t *state)
{
  static const double numbers[] = {0, 1, 0.5, 0.5, -1, 2, 0.25};

  for (size_t o = 0; o < KINKED; o++)
    for (size_t k = 0; k < 2; k++) {
      t->takes[o][k] = one_in(state, 3) ? (one_in(state, 2) ? TAKES_LEFT : TAKES_RIGHT) : TAKES_NUMBER;
      t->slope[o][k] = numbers[draw_below(state, 7)];
      if (one_in(state, 3)) /* the mean of both sides' */
        t->slope[o][k] = (slopes[o][k + 1] + (o == 2 ? t->w[t->n_moving] : slopes[o][k])) / 2;
    }
  for (size_t o = 0; o < TIED; o++) {
    t->ties[o] = (tie)draw_below(state, 4);
    t->shared[o] = t->ties[o] == TIE_MEAN ? 1 : t->ties[o] == TIE_HYBRID ? (one_in(state, 3) ? 2 : 0.5) : 0;
  }
}

void
tape_draw(plain_tape *t, uint64_t *state)
{
  static const double numbers[] = {0, 0, 1, -1, 1, 2};
  const bool origin = one_in(state, 2);
  const size_t inner = 1 + draw_below(state, 3);

  memset(t, 0, sizeof *t);
  t->batch = 1 + one_in(state, 4);
  t->n_moving = one_in(state, 8) ? 1 : one_in(state, 5) ? 3 : 2;
  t->n_weights = t->n_moving + 1;
  for (size_t i = 0; i < t->n_moving; i++)
    t->w[i] = origin ? 0 : numbers[draw_below(state, 6)];
  t->w[t->n_moving] = one_in(state, 3) ? 0.5 : numbers[1 + draw_below(state, 5)];
  add_step(t, PLAIN_INPUT, 1 + draw_below(state, 2), 0);
  for (size_t i = 0; i < t->batch * t->step[0].n; i++)
    t->x[i] = draw_coefficient(state);
  draw_first(t, state);
  if (one_in(state, 5)) { /* curved */
    draw_products(t, state);
    draw_sum(t, 2, one_in(state, 3), state);
  }
  draw_pieces(t, state);
  for (size_t i = 1; i < inner; i++)
    draw_inner(t, state);
  draw_sum(t, one_in(state, 4) ? 2 : 1, one_in(state, 4), state);
  t->squares = one_in(state, 3);
  for (size_t i = 0; i < t->batch * TAPE_OUTPUTS; i++)
    t->y[i] = numbers[draw_below(state, 6)];
  draw_statement(t, state);
}

/* ---- The kernel's steps */

static const rational *
number(double x)
{
  rational *q = rationals(1);

  mpq_set_d(q, x);
  return x == 1 ? &plus_one : q;
}

static void
set_all(rational *to, const double *from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    mpq_set_d(&to[i], from[i]);
}

static const kind kinds[] = {INPUT, LINEAR, PIECEWISE, WINDOW, PRODUCT, FUNCTION, FUNCTION};

/* Rows of their own for all features. */
static void
set_terms(step *st, const plain_tape *t, const plain_step *of, tensor *w)
{
  st->n_factors = st->n_sources = of->n * of->width;
  st->factors = allocate(st->n_factors, sizeof *st->factors);
  st->sources = allocate(st->n_sources, sizeof *st->sources);
  st->factor_row = allocate(of->n, sizeof(size_t));
  st->source_row = allocate(of->n, sizeof(size_t));
  for (size_t f = 0; f < of->n; f++) {
    st->factor_row[f] = st->source_row[f] = f;
    for (size_t i = 0; i < of->width; i++) {
      const plain_term *one = &of->term[f][i];
      const bool still = one->w >= (int)t->n_moving;

      st->factors[f * of->width + i] = (factor){number(one->coef), one->w < 0 ? NULL : &w[still],
                                                one->w < 0 ? 0 : (size_t)one->w - (still ? t->n_moving : 0)};
      st->sources[f * of->width + i] = one->step < 0 ? (source){NONE, 0} : (source){(size_t)one->step, (size_t)one->from};
    }
  }
}

static void
set_step(step *st, const plain_tape *t, size_t s, tensor *w)
{
  static const char *const others[] = {"Input", "Gemm", "", "", "Mul", "Reciprocal", "Exp"};
  const plain_step *of = &t->step[s];
  const char *op = of->kind == PLAIN_PIECES ? kinked_names[of->op] : of->kind == PLAIN_LARGEST ? tied_names[of->op] : others[of->kind];

  *st = (step){.kind = kinds[of->kind], .op = op, .name = "", .outer = op, .place = s, .n = of->n, .width = of->width,
               .n_kinks = of->n_kinks, .number = {0, 1}, .of = of->kind == PLAIN_EXP ? F_EXP : F_RECIPROCAL};
  set_terms(st, t, of, w);
  for (size_t i = 0; i < 2; i++)
    st->at[i] = rational_zero();
  for (size_t i = 0; i < 9; i++)
    st->piece[i / 3][i % 3] = rational_zero();
  set_all(st->at, of->at, 2);
  for (size_t p = 0; p < 3; p++)
    set_all(st->piece[p], of->piece[p], 3);
}

static void
set_tensor(tensor *to, const char *name, const double *from, size_t rank, size_t rows, size_t columns)
{
  *to = (tensor){.name = (char *)name, .rank = rank, .dims = {rank > 1 ? rows : columns, columns}, .count = rows * columns, .real = true};
  to->value = rationals(to->count);
  set_all(to->value, from, to->count);
}

point *
tape_point(const plain_tape *t)
{
  static kinked_operator operators[KINKED];
  network *net = allocate(1, sizeof *net);
  point *p = allocate(1, sizeof *p);
  tensor *of = allocate(4, sizeof *of), **all = allocate(2, sizeof(tensor *));
  const plain_step *last = &t->step[t->n_steps - 1];

  for (size_t o = 0; o < KINKED; o++)
    operators[o] = (kinked_operator){kinked_names[o], kinked_count[o]};
  set_tensor(&of[0], "w", t->w, 1, 1, t->n_moving);
  set_tensor(&of[1], "c", &t->w[t->n_moving], 1, 1, t->n_weights - t->n_moving);
  set_tensor(&of[2], "x", t->x, 2, t->batch, t->step[0].n);
  set_tensor(&of[3], "y", t->y, 2, t->batch, last->n);
  for (size_t i = 0; i < 2; i++) {
    all[i] = &of[i];
    of[i].initializer = of[i].weight = true;
  }
  of[0].wrt = true; /* as steps are read; the line `wrt` says it again */
  *net = (network){.operators = operators, .n_operators = KINKED, .smooth = &smooth_steps, .own = {.kind = LOSS_NONE}, .batched = true,
                   .batch = t->batch, .together = t->batch, .apart = t->batch, .n_steps = t->n_steps, .n_tensors = 2, .tensors = all,
                   .output = t->n_steps - 1, .n_outputs = last->n, .rank = 2, .dims = {1, last->n}};
  net->steps = allocate(t->n_steps, sizeof *net->steps);
  net->map = allocate(last->n, sizeof *net->map);
  for (size_t i = 0; i < last->n; i++)
    net->map[i] = i;
  name_add(&net->named, "w");
  name_add(&net->named, "c");
  for (size_t s = 0; s < t->n_steps; s++)
    set_step(&net->steps[s], t, s, of);
  of[0].wrt = false;
  *p = (point){.net = net, .x = &of[2], .target = &of[3]};
  return p;
}
