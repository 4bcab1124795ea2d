/* Lines of proofs about tapes that are made by hand, word by word: what holds, what fails and why, and what is said of it. */
#include "../suite.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/evidence_kinds.h"
#include "check/kernel/zone.h"
#include "forge_tape_draw.h"
#include "forge_tape_judge.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tapes */

static plain_step *
add(plain_tape *t, plain_kind of, size_t n, size_t width)
{
  plain_step *st = &t->step[t->n_steps++];

  st->kind = of;
  st->n = n;
  st->width = width;
  for (size_t f = 0; f < n; f++)
    for (size_t i = 0; i < width; i++)
      st->term[f][i] = (plain_term){1, -1, (int)t->n_steps - 2, (int)(width == 1 ? f : i)};
  return st;
}

static void
add_relu(plain_tape *t, size_t n)
{
  plain_step *st = add(t, PLAIN_PIECES, n, 1);

  st->op = 3;
  st->n_kinks = 1;
  st->piece[1][1] = 1;
}

/* Of what is before it, and 1: the slope there is not rational. */
static void
add_exp(plain_tape *t)
{
  const bool sum = t->step[t->n_steps - 1].kind == PLAIN_SUM;
  plain_step *st = sum ? &t->step[t->n_steps - 1] : add(t, PLAIN_SUM, 1, 1);

  st->term[0][st->width++] = (plain_term){1, -1, -1, 0};
  add(t, PLAIN_EXP, 1, 1);
}

/* Of one sample, 1: w0, w1 and w0 - w1, all 0. */
static void
begin(plain_tape *t)
{
  memset(t, 0, sizeof *t);
  t->batch = 1;
  t->n_moving = 2;
  t->n_weights = 3;
  t->x[0] = 1;
  add(t, PLAIN_INPUT, 1, 0);
  plain_step *st = add(t, PLAIN_SUM, 3, 2);
  for (size_t f = 0; f < 3; f++)
    for (size_t i = 0; i < 2; i++)
      st->term[f][i] = (plain_term){i == 0 ? 1 : f < 2 ? 0 : -1, f == 2 && i == 1 ? 1 : (int)f % 2, 0, 0};
}

/* relu(w0) + 2 relu(w1) */
static void
make_two(plain_tape *t)
{
  begin(t);
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2)->term[0][1].coef = 2;
}

/* The same, and 3 relu(x) added, whose kink is not touched: the first node. */
static void
make_early(plain_tape *t)
{
  make_two(t);
  memmove(&t->step[2], &t->step[1], 3 * sizeof *t->step);
  t->n_steps = 1;
  add_relu(t, 1);
  for (size_t s = 2; s < 5; s++)
    for (size_t f = 0; f < 3; f++)
      for (size_t i = 0; i < 2; i++)
        t->step[s].term[f][i].step += s > 2;
  t->n_steps = 5;
}

/* exp(a relu(w0) + b relu(w1)), or of relu(relu(w1)). */
static void
make_exp(plain_tape *t, double a, double b, bool behind)
{
  begin(t);
  add_relu(t, 2);
  if (behind)
    add_relu(t, 2);
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0].coef = a;
  st->term[0][1].coef = b;
  if (behind)
    st->term[0][0].step--;
  add_exp(t);
}

static void make_exp_both(plain_tape *t) { make_exp(t, 1, 1, false); }
static void make_exp_first(plain_tape *t) { make_exp(t, 1, 0, false); }
static void make_exp_last(plain_tape *t) { make_exp(t, 0, 1, false); }
static void make_exp_behind(plain_tape *t) { make_exp(t, 1, 0, true); }
static void make_exp_chain(plain_tape *t) { make_exp(t, 1, 1, true); }

/* relu(p(w0)), of p PRelu with the slope 1/2 on its left. */
static void
make_leaky(plain_tape *t)
{
  begin(t);
  t->w[2] = 0.5;
  add_relu(t, 1);
  t->step[2].op = 2;
  t->step[2].term[0][0].w = 2;
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(w0) - relu(-w0) + 0 relu(w1): the slopes 1 make its derivative 2. */
static void
make_twice(plain_tape *t)
{
  begin(t);
  for (size_t i = 0; i < 2; i++)
    t->step[1].term[1][i].coef = t->step[1].term[1][i].w = 0;
  t->step[1].term[1][0].coef = -1;
  t->step[1].term[2][0] = (plain_term){1, 1, 0, 0};
  t->step[1].term[2][1].coef = 0;
  add_relu(t, 3);
  plain_step *st = add(t, PLAIN_SUM, 1, 3);
  st->term[0][1].coef = -1;
  st->term[0][2].coef = 0;
}

/* relu(w0) + the largest of w0 and -w0 */
static void
make_with_size(plain_tape *t)
{
  make_twice(t);
  t->step[1].n = 2;
  t->step[2].n = 1;
  t->n_steps = 3;
  plain_step *st = add(t, PLAIN_LARGEST, 1, 2);
  st->op = 1;
  st->term[0][0].step = st->term[0][1].step = 1;
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1].from = 0;
}

/* relu(w0) + 3 relu(-w0) */
static void
make_slant(plain_tape *t)
{
  make_twice(t);
  t->step[3].term[0][1].coef = 3;
}

/* relu(w0) - relu(-w0) - relu(-2 w0) + relu(2 w0), in an order of its own: kinks at a w0. */
static void
make_four(plain_tape *t, const double *a)
{
  begin(t);
  plain_step *st = &t->step[1];
  st->n = 4;
  for (size_t f = 0; f < 4; f++) {
    st->term[f][0] = (plain_term){a[f], 0, 0, 0};
    st->term[f][1] = (plain_term){0, 0, 0, 0};
  }
  add_relu(t, 4);
  st = add(t, PLAIN_SUM, 1, 4);
  for (size_t f = 0; f < 4; f++)
    st->term[0][f].coef = a[f] > 0 ? 1 : -1;
}

static void make_by_turns(plain_tape *t) { make_four(t, (const double[]){1, 2, -1, -2}); }
static void make_halves(plain_tape *t) { make_four(t, (const double[]){1, -1, -2, 2}); }

/* relu(w0 + w1^2) - relu(-w0): both are above 0 between -w1^2 and 0. */
static void
make_curved(plain_tape *t)
{
  begin(t);
  plain_step *st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0].from = st->term[0][1].from = 1;
  st = add(t, PLAIN_SUM, 2, 2);
  for (size_t f = 0; f < 2; f++)
    st->term[f][0] = (plain_term){f == 0 ? 1 : -1, -1, 1, 0};
  st->term[1][1] = (plain_term){0, -1, -1, 0};
  st->term[0][1].from = 0;
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2)->term[0][1].coef = -1;
}

/* relu(w1 w0) - relu(-w1 w0) at w1 = 1. */
static void
make_factor(plain_tape *t)
{
  begin(t);
  t->w[1] = 1;
  plain_step *st = add(t, PLAIN_SUM, 2, 1);
  for (size_t f = 0; f < 2; f++)
    st->term[f][0] = (plain_term){f == 0 ? 1 : -1, 1, 1, 0};
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2)->term[0][1].coef = -1;
}

/* relu(c) - relu(2 - w0 - w1) at w = (1, 1), c a sum of products that is 0 along a curve. There the line w0 + w1 = 2 touches it, so that both
 * arguments may have one sign; were c affine but for a factor, they could not. Entry 3 of step 1 is a w0 + b w1, which is added where it is told so. */
static void
make_bent(plain_tape *t, size_t n, const plain_term *c, double a, double b, bool added)
{
  begin(t);
  t->w[0] = t->w[1] = 1;
  plain_step *st = &t->step[1];
  st->n = 4;
  st->width = 3;
  for (size_t f = 0; f < 4; f++)
    for (size_t i = 0; i < 3; i++)
      st->term[f][i] = (plain_term){i == 2 ? 0 : f < 2 ? f == i : f == 2 ? -1 : i == 0 ? a : b, i < 2 ? (int)i : -1, 0, 0};
  st->term[2][2].coef = 2;
  st = add(t, PLAIN_SUM, 1, n);
  memcpy(st->term[0], c, n * sizeof *c);
  st = add(t, PLAIN_SUM, 2, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){added, -1, 1, 3};
  st->term[1][0] = (plain_term){1, -1, 1, 2};
  st->term[1][1] = (plain_term){0, -1, 1, 2};
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2)->term[0][1].coef = -1;
}

/* w1 w0 - 1 */
static void
make_bent_number(plain_tape *t)
{
  static const plain_term c[] = {{1, 1, 1, 0}, {-1, -1, -1, 0}};

  make_bent(t, 2, c, 0, 0, false);
}

/* w1 w0 - (w0 + w1) / 2, of which the second is added later */
static void
make_bent_later(plain_tape *t)
{
  static const plain_term c[] = {{1, 1, 1, 0}};

  make_bent(t, 1, c, -0.5, -0.5, true);
}

/* w0 w0 + w1 (2 w1 - w0) - 2 w1: two parameters multiply, the last one twice */
static void
make_bent_two(plain_tape *t)
{
  static const plain_term c[] = {{1, 0, 1, 0}, {1, 1, 1, 3}, {-2, 1, -1, 0}};

  make_bent(t, 3, c, -1, 2, false);
}

/* relu(z) - relu(-z), z = w0 + w1^2. */
static void
make_opposite(plain_tape *t)
{
  make_curved(t);
  plain_step *st = &t->step[3];
  st->n = 1;
  t->n_steps = 4;
  st = add(t, PLAIN_SUM, 2, 1);
  st->term[0][0].from = st->term[1][0].from = 0;
  st->term[1][0].coef = -1;
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2)->term[0][1].coef = -1;
}

/* Kinks at -w0 and w0 + w1^2. */
static void
make_curved_second(plain_tape *t)
{
  make_curved(t);
  plain_term one[TAPE_WIDTH];
  memcpy(one, t->step[3].term[0], sizeof one);
  memcpy(t->step[3].term[0], t->step[3].term[1], sizeof one);
  memcpy(t->step[3].term[1], one, sizeof one);
}

/* Kinks at w1 and 2 w1. */
static void
make_second_alone(plain_tape *t)
{
  make_two(t);
  for (size_t f = 0; f < 2; f++)
    for (size_t i = 0; i < 2; i++)
      t->step[1].term[f][i] = (plain_term){i == 0 ? 1 + (double)f : 0, 1, 0, 0};
}

/* max(w0, -w0) + max(w1, -w1) */
static void
make_apart_ties(plain_tape *t)
{
  begin(t);
  plain_step *st = &t->step[1];
  st->n = 4;
  for (size_t f = 0; f < 4; f++)
    for (size_t i = 0; i < 2; i++)
      st->term[f][i] = (plain_term){i > 0 ? 0 : f % 2 == 0 ? 1 : -1, (int)f / 2, 0, 0};
  st = add(t, PLAIN_LARGEST, 2, 2);
  st->op = 1;
  for (size_t f = 0; f < 2; f++)
    for (size_t i = 0; i < 2; i++)
      st->term[f][i].from = (int)(2 * f + i);
  add(t, PLAIN_SUM, 1, 2);
}

/* max(w0, w1) + relu(w0) */
static void
make_tie_first(plain_tape *t)
{
  begin(t);
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  add_relu(t, 1);
  t->step[3].term[0][0].step = 1;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, 2 + (int)i, 0};
}

/* The largest of w0 + w1^2 and -w0, or of -w0 and w0 + w1^2, twice. */
static void
make_curved_ties(plain_tape *t, bool turned)
{
  make_curved(t);
  t->n_steps = 4;
  plain_step *st = add(t, PLAIN_LARGEST, 2, 2);
  st->op = 1;
  for (size_t f = 0; f < 2; f++)
    for (size_t i = 0; i < 2; i++)
      st->term[f][i].from = turned ? 1 - (int)i : (int)i;
  add(t, PLAIN_SUM, 1, 2);
}

static void make_curved_first(plain_tape *t) { make_curved_ties(t, false); }
static void make_curved_last(plain_tape *t) { make_curved_ties(t, true); }

/* The largest of w0 + e and e, or of e and w0 + e: the number is not rational. */
static void
make_irrational(plain_tape *t, size_t first)
{
  begin(t);
  t->n_steps = 1;
  add(t, PLAIN_EXP, 1, 1);
  plain_step *st = add(t, PLAIN_SUM, 2, 2);
  for (size_t f = 0; f < 2; f++) {
    st->term[f][0] = (plain_term){1, -1, 1, 0};
    st->term[f][1] = (plain_term){f == first, 0, 0, 0};
    if (f != first)
      st->term[f][1] = (plain_term){0, -1, 1, 0};
  }
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  add(t, PLAIN_SUM, 1, 1);
}

static void make_irrational_first(plain_tape *t) { make_irrational(t, 0); }
static void make_irrational_last(plain_tape *t) { make_irrational(t, 1); }

/* The largest of w1 w0, -w1 w0 and maybe w1 w0 / 2 at w1 = 1, and of twice that. */
static void
make_factor_ties(plain_tape *t, size_t n)
{
  begin(t);
  t->w[1] = 1;
  plain_step *st = add(t, PLAIN_SUM, 3, 1);
  for (size_t f = 0; f < 3; f++)
    st->term[f][0] = (plain_term){f == 0 ? 1 : f == 1 ? -1 : 0.5, 1, 1, 0};
  add(t, PLAIN_LARGEST, 1, n)->op = 1;
  st = add(t, PLAIN_SUM, 3, 1);
  for (size_t f = 0; f < 3; f++)
    st->term[f][0] = (plain_term){2, -1, 2, (int)f};
  st = add(t, PLAIN_LARGEST, 1, n);
  st->op = 1;
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 3, 0};
  st->term[0][1] = (plain_term){1, -1, 5, 0};
}

static void make_factor_two(plain_tape *t) { make_factor_ties(t, 2); }
static void make_factor_three(plain_tape *t) { make_factor_ties(t, 3); }

/* The largest of e w0, -e w0 and maybe e w0 / 2, and of twice that: the rows are not rational. */
static void
make_exp_ties(plain_tape *t, size_t n)
{
  make_factor_ties(t, n);
  t->w[1] = 0;
  t->step[1] = t->step[0];
  t->step[1].kind = PLAIN_EXP;
  t->step[1].width = 1;
  t->step[1].term[0][0] = (plain_term){1, -1, 0, 0};
  for (size_t f = 0; f < 3; f++)
    t->step[2].term[f][0].w = 0;
}

static void make_exp_two(plain_tape *t) { make_exp_ties(t, 2); }
static void make_exp_ranks(plain_tape *t) { make_exp_ties(t, 3); }

/* Kinks at w1 w0 and 2 w1 w0, w1 = 1. */
static void
make_factor_kinks(plain_tape *t)
{
  make_factor(t);
  t->step[2].term[1][0].coef = 2;
}

/* Kinks at w0 + w1 and w0 + 2 w1. */
static void
make_oblique(plain_tape *t)
{
  make_two(t);
  for (size_t f = 0; f < 2; f++) {
    t->step[1].term[f][0] = (plain_term){1, 0, 0, 0};
    t->step[1].term[f][1] = (plain_term){1 + (double)f, 1, 0, 0};
  }
}

/* Kinks at w0 - w0 and w1. */
static void
make_cancelled(plain_tape *t)
{
  make_two(t);
  t->step[1].term[0][1] = (plain_term){-1, 0, 0, 0};
}

/* max(w0, -w0, w1) - max(-w0, w0): the first ones make its derivative 2 by w0, which is 1 at most. */
static void
make_ties(plain_tape *t)
{
  make_twice(t);
  t->n_steps = 2;
  add(t, PLAIN_LARGEST, 1, 3)->op = 1;
  plain_step *st = add(t, PLAIN_LARGEST, 1, 2);
  st->op = 1;
  st->term[0][0] = (plain_term){1, -1, 1, 1};
  st->term[0][1] = (plain_term){1, -1, 1, 0};
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){-1, -1, 3, 0};
}

/* exp(relu(w0) + 0 max(w0, w1, w0 - w1)) */
static void
make_exp_window(plain_tape *t)
{
  begin(t);
  add_relu(t, 1);
  add(t, PLAIN_LARGEST, 1, 3)->op = 1;
  for (size_t i = 0; i < 3; i++)
    t->step[3].term[0][i].step = 1;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){0, -1, 3, 0};
  add_exp(t);
}

/* exp(|relu(w0)|): where w0 is below 0, nothing comes to the second kink. */
static void
make_exp_flat(plain_tape *t)
{
  begin(t);
  add_relu(t, 1);
  add_relu(t, 1);
  t->step[3].op = 0;
  t->step[3].piece[0][1] = -1;
  add_exp(t);
}

/* exp(relu(p(w0))) of PRelu, whose left slope is 1/2. */
static void
make_exp_leaky(plain_tape *t)
{
  begin(t);
  t->w[2] = 0.5;
  add_relu(t, 1);
  t->step[2].op = 2;
  t->step[2].term[0][0].w = 2;
  add_relu(t, 1);
  add_exp(t);
}

/* exp(relu(w0) + max(w0, w1)) */
static void
make_exp_tie(plain_tape *t)
{
  begin(t);
  add_relu(t, 1);
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++) {
    t->step[3].term[0][i].step = 1;
    st->term[0][i] = (plain_term){1, -1, 2 + (int)i, 0};
  }
  add_exp(t);
}

/* exp(relu(w0) + relu(w1) + max(w0, w1, w0 - w1)) */
static void
make_exp_three(plain_tape *t)
{
  begin(t);
  add_relu(t, 2);
  add(t, PLAIN_LARGEST, 1, 3)->op = 1;
  plain_step *st = add(t, PLAIN_SUM, 1, 3);
  for (size_t i = 0; i < 3; i++) {
    t->step[3].term[0][i].step = 1;
    st->term[0][i] = (plain_term){1, -1, i < 2 ? 2 : 3, i == 1};
  }
  add_exp(t);
}

/* relu(w0) + p(w1), of PRelu. */
static void
make_apart(plain_tape *t)
{
  begin(t);
  t->w[2] = 0.5;
  add_relu(t, 1);
  add_relu(t, 1);
  t->step[3].op = 2;
  t->step[3].term[0][0] = (plain_term){1, 2, 1, 1};
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, 2 + (int)i, 0};
}

/* relu(w0) + 2 relu(w1) + relu(w0 + w1) */
static void
make_three(plain_tape *t)
{
  begin(t);
  t->step[1].term[2][1].coef = 1;
  add_relu(t, 3);
  add(t, PLAIN_SUM, 1, 3)->term[0][1].coef = 2;
}

/* relu(c(w0) - 1) at w0 = 1, of c that is 1 above 1. */
static void
make_clipped(plain_tape *t)
{
  begin(t);
  t->w[0] = 1;
  plain_step *st = add(t, PLAIN_PIECES, 1, 1);
  st->op = 1;
  st->n_kinks = 2;
  st->at[0] = -1;
  st->at[1] = 1;
  st->piece[0][0] = -1;
  st->piece[1][1] = 1;
  st->piece[2][0] = 1;
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][1] = (plain_term){-1, -1, -1, 0};
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(relu(w0)) + p(w1), of PRelu. */
static void
make_apart_chain(plain_tape *t)
{
  make_apart(t);
  t->n_steps = 4;
  add_relu(t, 1);
  t->step[4].term[0][0].step = 2;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, 3 + (int)i, 0};
}

/* relu(w0) + 2 |w1| + relu(1 - 1): the last one's argument is constant. */
static void
make_constant(plain_tape *t)
{
  begin(t);
  for (size_t i = 0; i < 2; i++)
    t->step[1].term[2][i] = (plain_term){i == 0 ? 1 : -1, -1, -1, 0};
  add_relu(t, 3);
  add(t, PLAIN_SUM, 1, 3);
}

/* 0 relu(w0) + 0 relu(w1) */
static void
make_nothing(plain_tape *t)
{
  make_two(t);
  t->step[3].term[0][0].coef = t->step[3].term[0][1].coef = 0;
}

/* relu(w0) + relu(c - 1), c = 1. */
static void
make_other_moves(plain_tape *t)
{
  begin(t);
  t->w[2] = 1;
  t->step[1].term[1][0] = (plain_term){1, 2, 0, 0};
  t->step[1].term[1][1] = (plain_term){-1, -1, -1, 0};
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2);
}

/* Nothing is touched: relu(1) + 2 relu(2). */
static void
make_untouched(plain_tape *t)
{
  make_two(t);
  t->w[0] = 1;
  t->w[1] = 2;
}

/* 2 relu(w1) and relu(w0), two outputs. */
static void
make_pair(plain_tape *t)
{
  begin(t);
  add_relu(t, 2);
  plain_step *st = add(t, PLAIN_SUM, 2, 1);
  st->term[0][0].coef = 2;
  st->term[0][0].from = 1;
  st->term[1][0].from = 0;
}

/* The largest of w0, w1 and w0 - w1. */
static void
make_window(plain_tape *t)
{
  begin(t);
  add(t, PLAIN_LARGEST, 1, 3)->op = 1;
  add(t, PLAIN_SUM, 1, 1);
}

/* The largest of w0 + w1^2, w0 - w1^2, and w1, which is computed first: the first two have one derivative. */
static void
make_touching(plain_tape *t)
{
  begin(t);
  plain_step *st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0].from = st->term[0][1].from = 1;
  st = add(t, PLAIN_SUM, 3, 2);
  for (size_t f = 1; f < 3; f++) {
    st->term[f][0] = (plain_term){1, -1, 1, 0};
    st->term[f][1] = (plain_term){f == 1 ? 1 : -1, -1, 2, 0};
  }
  st->term[0][0] = (plain_term){1, -1, 1, 1};
  st->term[0][1] = (plain_term){0, -1, 1, 0};
  st = add(t, PLAIN_LARGEST, 1, 3);
  st->op = 1;
  for (size_t i = 0; i < 3; i++)
    st->term[0][i].from = (int)(i + 1) % 3;
  add(t, PLAIN_SUM, 1, 1);
}

/* The largest of the first two of these. */
static void
make_touching_two(plain_tape *t)
{
  make_touching(t);
  t->step[4].width = 2;
}

/* relu(w1) + relu(z), z = e w0 - e w0. */
static void
make_e_less(plain_tape *t)
{
  begin(t);
  add(t, PLAIN_EXP, 1, 1)->term[0][0] = (plain_term){1, -1, 0, 0};
  plain_step *st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){1, -1, 1, 0};
  st = add(t, PLAIN_SUM, 2, 2);
  st->term[0][0] = (plain_term){1, -1, 1, 1};
  st->term[0][1] = (plain_term){0, -1, 1, 1};
  st->term[1][0] = (plain_term){1, -1, 3, 0};
  st->term[1][1] = (plain_term){-1, -1, 3, 0};
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2);
}

/* relu(w1) + relu(e w0 - q w0 + w1) */
static void
make_e_near(plain_tape *t)
{
  make_e_less(t);
  plain_step *st = &t->step[4];
  st->width = 3;
  st->term[1][1] = (plain_term){-1, -1, 1, 0};
  for (size_t f = 0; f < 2; f++)
    st->term[f][2] = (plain_term){(double)f, -1, 1, 1};
}

/* relu(w0) - relu(-w0) + 0 relu(w1) + relu(z) */
static void
make_twice_e_less(plain_tape *t)
{
  plain_tape other;

  make_twice(t);
  make_e_less(&other);
  const plain_step last = t->step[3];
  memcpy(&t->step[3], &other.step[2], 3 * sizeof *t->step);
  memcpy(t->step[5].term[0], t->step[5].term[1], sizeof t->step[5].term[0]);
  t->step[5].n = 1;
  t->n_steps = 6;
  for (size_t s = 3; s < 6; s++)
    for (size_t i = 0; i < 2; i++)
      t->step[s].term[0][i].step += t->step[s].term[0][i].step > 1;
  add_relu(t, 1);
  t->step[7] = last;
  t->step[7].width = 4;
  t->step[7].term[0][3] = (plain_term){1, -1, 6, 0};
  t->n_steps = 8;
}

/* relu(w0) + 1 and c relu(w0), or relu(w1): the derivatives of cross entropy are not rational. */
static void
make_shares(plain_tape *t, double c, bool apart)
{
  begin(t);
  add_relu(t, apart ? 2 : 1);
  plain_step *st = add(t, PLAIN_SUM, 2, 2);
  st->term[0][0].from = 0;
  st->term[1][0] = (plain_term){c, -1, 2, apart};
  for (size_t f = 0; f < 2; f++)
    st->term[f][1] = (plain_term){f == 0, -1, -1, 0};
}

static void make_shares_alike(plain_tape *t) { make_shares(t, 1, false); }
static void make_shares_twice(plain_tape *t) { make_shares(t, 2, false); }
static void make_shares_apart(plain_tape *t) { make_shares(t, 1, true); }

/* relu(w0 - w0), twice; the sum of both, or the largest. */
static void
make_copies(plain_tape *t)
{
  begin(t);
  t->step[1].n = 1;
  for (size_t i = 0; i < 2; i++)
    t->step[1].term[0][i] = (plain_term){i == 0 ? 1 : -1, 0, 0, 0};
  add_relu(t, 1);
  add(t, PLAIN_SUM, 2, 1)->term[1][0].from = 0;
  add(t, PLAIN_SUM, 1, 2);
}

static void
make_loose(plain_tape *t)
{
  make_copies(t);
  t->n_steps = 4;
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  add(t, PLAIN_SUM, 1, 1);
}

/* The same beside the largest of one entry twice, which alone counts. */
static void
make_half_loose(plain_tape *t)
{
  make_loose(t);
  t->step[4].n = 2;
  for (size_t i = 0; i < 2; i++)
    t->step[4].term[1][i] = (plain_term){1, -1, 3, 1};
  t->step[5].term[0][0].from = 1;
}

/* The largest of two copies beside that of 1 twice, which alone counts. */
static void
make_one_beside(plain_tape *t)
{
  make_half_loose(t);
  t->step[3].n = 3;
  t->step[3].term[2][0] = (plain_term){1, -1, -1, 0};
  for (size_t i = 0; i < 2; i++)
    t->step[4].term[1][i].from = 2;
}

/* relu(w0 - w0) + 0 relu(w1) */
static void
make_cancelled_alone(plain_tape *t)
{
  make_cancelled(t);
  t->step[3].term[0][1].coef = 0;
}

/* The largest of two copies and 1, and the largest: two outputs. */
static void
make_loose_shares(plain_tape *t)
{
  make_loose(t);
  t->n_steps = 5;
  plain_step *st = add(t, PLAIN_SUM, 2, 2);
  for (size_t f = 0; f < 2; f++) {
    st->term[f][0] = (plain_term){1, -1, 4, 0};
    st->term[f][1] = (plain_term){f == 0, -1, -1, 0};
  }
}

/* relu(e w0) */
static void
make_e_kink(plain_tape *t)
{
  begin(t);
  add(t, PLAIN_EXP, 1, 1)->term[0][0] = (plain_term){1, -1, 0, 0};
  add(t, PLAIN_SUM, 1, 1)->term[0][0] = (plain_term){1, 0, 2, 0};
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(e w0) + w0 */
static void
make_e_kink_more(plain_tape *t)
{
  make_e_kink(t);
  t->step[4].width = 2;
  t->step[4].term[0][1] = (plain_term){1, -1, 1, 0};
}

/* relu(relu(w0)) */
static void
make_chain(plain_tape *t)
{
  begin(t);
  add_relu(t, 1);
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(relu(1 - 1) + w0 - w0): the first kink's argument is constant. */
static void
make_constant_chain(plain_tape *t)
{
  begin(t);
  for (size_t i = 0; i < 2; i++) {
    t->step[1].term[0][i] = (plain_term){i == 0 ? 1 : -1, -1, -1, 0};
    t->step[1].term[1][i] = (plain_term){i == 0 ? 1 : -1, 0, 0, 0};
  }
  add_relu(t, 1);
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][1] = (plain_term){1, -1, 1, 1};
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(1 - 1) */
static void
make_constant_alone(plain_tape *t)
{
  make_constant_chain(t);
  t->n_steps = 3;
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(w1) + max(w0, w0 - w1) */
static void
make_relu_first(plain_tape *t)
{
  begin(t);
  add_relu(t, 1);
  t->step[2].term[0][0].from = 1;
  plain_step *st = add(t, PLAIN_LARGEST, 1, 2);
  st->op = 1;
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, 1, (int)(2 * i)};
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){1, -1, 3, 0};
}

/* relu(w0) + max(w1, -w1) */
static void
make_apart_tie(plain_tape *t)
{
  begin(t);
  t->step[1].term[2][0].coef = 0;
  add_relu(t, 1);
  plain_step *st = add(t, PLAIN_LARGEST, 1, 2);
  st->op = 1;
  st->term[0][0] = (plain_term){1, -1, 1, 1};
  st->term[0][1] = (plain_term){1, -1, 1, 2};
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[0][1] = (plain_term){1, -1, 3, 0};
}

/* max(w0, w0, w1, w1), whose options are two entries each. */
static void
make_two_twice(plain_tape *t)
{
  begin(t);
  plain_step *st = add(t, PLAIN_LARGEST, 1, 4);
  st->op = 1;
  for (size_t i = 0; i < 4; i++)
    st->term[0][i].from = (int)i / 2;
  add(t, PLAIN_SUM, 1, 1);
}

/* max(max(w0, w1), w0) + max(w0, w1) */
static void
make_behind(plain_tape *t)
{
  begin(t);
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  plain_step *st = add(t, PLAIN_SUM, 2, 1);
  st->term[0][0] = (plain_term){1, -1, 2, 0};
  st->term[1][0] = (plain_term){1, -1, 1, 0};
  add(t, PLAIN_LARGEST, 1, 2)->op = 1;
  st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, i == 0 ? 4 : 2, 0};
}

/* max(w0, w1, w0 - w1) + relu(c), c a parameter of its own. */
static void
make_window_beside(plain_tape *t)
{
  begin(t);
  t->step[1].n = 4;
  for (size_t i = 0; i < 2; i++)
    t->step[1].term[3][i] = (plain_term){i == 0, 2, 0, 0};
  add(t, PLAIN_LARGEST, 1, 3)->op = 1;
  add_relu(t, 1);
  t->step[3].term[0][0] = (plain_term){1, -1, 1, 3};
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  for (size_t i = 0; i < 2; i++)
    st->term[0][i] = (plain_term){1, -1, 2 + (int)i, 0};
}

/* relu(p(w0) + w1), of PRelu. */
static void
make_reached(plain_tape *t)
{
  begin(t);
  t->w[2] = 0.5;
  add_relu(t, 1);
  t->step[2].op = 2;
  t->step[2].term[0][0].w = 2;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][1] = (plain_term){1, -1, 1, 1};
  add_relu(t, 1);
  add(t, PLAIN_SUM, 1, 1);
}

/* relu(w0) + max(w0, -w0) */
static void
make_abs_beside(plain_tape *t)
{
  make_apart_tie(t);
  for (size_t f = 1; f < 3; f++)
    t->step[1].term[f][0] = (plain_term){f == 1 ? 1 : -1, 0, 0, 0};
  t->step[1].term[1][1].coef = t->step[1].term[2][1].coef = 0;
}

/* relu(w0 + x) + x exp(x) w0, of two samples, x = 0 and x = 1: the second one's derivative is not rational, and nothing is touched in it. */
static void
make_other_sample(plain_tape *t)
{
  begin(t);
  t->batch = 2;
  t->x[0] = 0;
  t->x[1] = 1;
  plain_step *st = &t->step[1];
  st->n = 2;
  for (size_t f = 0; f < 2; f++) {
    st->term[f][0] = (plain_term){1, 0, -1, 0};
    st->term[f][1] = (plain_term){f == 0, -1, 0, 0};
  }
  add(t, PLAIN_EXP, 1, 1)->term[0][0] = (plain_term){1, -1, 0, 0};
  st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 0, 0};
  st->term[0][1] = (plain_term){1, -1, 2, 0};
  st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 3, 0};
  st->term[0][1] = (plain_term){1, -1, 1, 1};
  add_relu(t, 1);
  t->step[5].term[0][0] = (plain_term){1, -1, 1, 0};
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 4, 0};
  st->term[0][1] = (plain_term){1, -1, 5, 0};
}

/* (1 - x) exp(x w0 + 1) + x w0 + relu(w1), of two samples, x = 0 and x = 1: what is not rational in the first one is multiplied by 0. */
static void
make_by_samples(plain_tape *t)
{
  begin(t);
  t->batch = 2;
  t->x[0] = 0;
  t->x[1] = 1;
  plain_step *st = &t->step[1];
  st->term[0][1].coef = 0;
  st->term[1][0] = (plain_term){1, 1, -1, 0};
  st->term[1][1].coef = 0;
  st->term[2][0] = (plain_term){1, -1, -1, 0};
  st->term[2][1] = (plain_term){-1, -1, 0, 0};
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][1] = (plain_term){1, -1, -1, 0};
  add(t, PLAIN_EXP, 1, 1);
  st = add(t, PLAIN_PRODUCT, 1, 2);
  st->term[0][0] = (plain_term){1, -1, 3, 0};
  st->term[0][1] = (plain_term){1, -1, 1, 2};
  add_relu(t, 1);
  t->step[5].term[0][0] = (plain_term){1, -1, 1, 1};
  st = add(t, PLAIN_SUM, 1, 3);
  for (size_t i = 0; i < 3; i++)
    st->term[0][i] = (plain_term){1, -1, i == 0 ? 4 : i == 1 ? 1 : 5, 0};
}

/* p(1 / (1 - relu(w0)) - 1) of PRelu; turned, relu's right side is the flat one, and 1 / (1 + relu(w0)) is read. */
static void
make_quotient(plain_tape *t, bool turned)
{
  begin(t);
  t->w[2] = 0.5;
  add_relu(t, 1);
  t->step[2].piece[turned ? 0 : 1][1] = 1;
  t->step[2].piece[turned ? 1 : 0][1] = 0;
  plain_step *st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][0].coef = turned ? 1 : -1;
  st->term[0][1] = (plain_term){1, -1, -1, 0};
  add(t, PLAIN_RECIPROCAL, 1, 1);
  st = add(t, PLAIN_SUM, 1, 2);
  st->term[0][1] = (plain_term){-1, -1, -1, 0};
  add_relu(t, 1);
  t->step[6].op = 2;
  t->step[6].term[0][0].w = 2;
  add(t, PLAIN_SUM, 1, 1);
}

static void make_quotient_left(plain_tape *t) { make_quotient(t, false); }
static void make_quotient_right(plain_tape *t) { make_quotient(t, true); }

/* relu(2 w0) + relu((e - 4) w0): beside 0 the derivative is 2, or e - 4. */
static void
make_e_sides(plain_tape *t)
{
  begin(t);
  t->n_steps = 1;
  add(t, PLAIN_EXP, 1, 1);
  plain_step *st = add(t, PLAIN_SUM, 2, 2);
  st->term[0][0] = (plain_term){2, 0, 0, 0};
  st->term[0][1] = (plain_term){0, 0, 0, 0};
  st->term[1][0] = (plain_term){1, 0, 1, 0};
  st->term[1][1] = (plain_term){-4, 0, 0, 0};
  add_relu(t, 2);
  add(t, PLAIN_SUM, 1, 2);
}

/* ---- What is changed of a point */

static tensor *
target(point *p, size_t rank, size_t rows, size_t columns)
{
  static tensor y;

  y = (tensor){.name = (char *)"y", .rank = rank, .dims = {rows, columns}, .count = 4, .real = true, .value = rationals(4)};
  p->target = &y;
  return &y;
}

static const port *
declared(bool shaped, size_t rank, size_t rows, size_t columns)
{
  static port y;
  static size_t dims[2];

  dims[0] = rows;
  dims[1] = columns;
  y = (port){.shaped = shaped, .rank = rank, .dims = dims};
  return &y;
}

static void
labels(point *p, long label, long ignored)
{
  static tensor left_out;

  target(p, 1, 1, 0)->real = false;
  mpq_set_si(&p->target->value[0], label, 1);
  left_out = (tensor){.value = rationals(1)};
  mpq_set_si(left_out.value, ignored, 1);
  p->net->own.ignored = ignored != 0 ? &left_out : NULL;
}

static void own_mse(point *p) { p->net->own.kind = LOSS_MSE; }
static void no_target(point *p) { p->target = NULL; }
static void target_number(point *p) { target(p, 0, 1, 1); }
static void target_of_two(point *p) { target(p, 2, 2, 1); }
static void target_wide(point *p) { target(p, 2, 1, 2); }
static void target_flat(point *p) { target(p, 1, 1, 1); }
static void declared_so(point *p) { p->net->own.y = declared(true, 2, 1, 1); }
static void declared_open(point *p) { p->net->own.y = declared(true, 2, 0, 1); }
static void declared_flat(point *p) { p->net->own.y = declared(true, 1, 1, 1); }
static void declared_long(point *p) { p->net->own.y = declared(true, 2, 2, 1); }
static void declared_wide(point *p) { p->net->own.y = declared(true, 2, 1, 2); }
static void undeclared(point *p) { p->net->own.y = declared(false, 1, 5, 5); }
static void label_0(point *p) { labels(p, 0, 0); }
static void label_1(point *p) { labels(p, 1, -100); }
static void label_2(point *p) { labels(p, 2, -100); }
static void label_below(point *p) { labels(p, -1, -100); }
static void label_ignored(point *p) { labels(p, -100, -100); }
static void label_real(point *p) { labels(p, 0, 0); ((tensor *)p->target)->real = true; }
static void label_row(point *p) { target(p, 2, 1, 1)->real = false; }
static void in_time(point *p) { p->net->steps[2].turn = 3; }
static void input_named(point *p) { name_add(&p->net->named, "x"); }
static void turned(point *p) { p->net->steps[4].turned = true; }
static void at_first(point *p) { p->net->steps[2].turn = 1; }
static void named(point *p) { p->net->steps[2].name = "here"; }
/* q is more than e, by less than 2^-100. */
static void
near_e(point *p)
{
  rational *q = rationals(1);

  mpq_set_str(q, "-271828182845904523536028747135267/100000000000000000000000000000000", 10);
  p->net->steps[4].factors[4].coef = q;
}

/* The largest of w0, 2 w0, 3 w0, ... */
static void
many_options(point *p, size_t n)
{
  for (size_t s = 1; s < 3; s++) {
    step *st = &p->net->steps[s];

    st->n = s == 1 ? n : 1;
    st->width = s == 1 ? 1 : n;
    st->n_factors = st->n_sources = n;
    st->factors = allocate(n, sizeof *st->factors);
    st->sources = allocate(n, sizeof *st->sources);
    st->factor_row = allocate(n, sizeof(size_t));
    st->source_row = allocate(n, sizeof(size_t));
    for (size_t i = 0; i < n; i++) {
      rational *coef = rationals(1);

      mpq_set_ui(coef, s == 1 ? i + 1 : 1, 1);
      st->factors[i] = (factor){coef, s == 1 ? p->net->tensors[0] : NULL, 0};
      st->sources[i] = (source){s - 1, s == 1 ? 0 : i};
      st->factor_row[i] = st->source_row[i] = s == 1 ? i : 0;
    }
  }
}

static void many(point *p) { many_options(p, 27); }
static void as_many(point *p) { many_options(p, 26); }
static void hundreds(point *p) { many_options(p, 110); }
static void of_sorted(point *p) { p->net->steps[2].op = "Sorted"; }
static void of_top(point *p) { p->net->steps[2].op = "TopK"; }
static void of_max(point *p) { p->net->steps[2].op = "Max"; }
static void of_min(point *p) { p->net->steps[2].op = "Min"; }
static void of_smallest(point *p) { p->net->steps[2].op = "ReduceMin"; }
static void of_pool(point *p) { p->net->steps[2].op = "MaxPool"; }
static void of_all(point *p) { p->net->steps[2].op = "GlobalMaxPool"; }
static void of_none(point *p) { p->net->steps[2].op = "Gemm"; }
static void output_cube(point *p) { labels(p, 0, 0); p->net->rank = 3; p->net->dims[2] = 1; }
static void other_is_none(point *p) { p->net->tensors[1]->weight = false; }
static void none_is(point *p) { p->net->tensors[0]->weight = p->net->tensors[1]->weight = false; }

/* ---- Cases */

#define WHO(loss, wrt) "loss " loss "\nwrt " wrt "\nprofile hand\n"
#define RELU(slope) "proxy Relu 0 " slope "\n"
#define MOVE(...) "direction\nmove " __VA_ARGS__ "\n"
#define AD "evidence ad\ncell ad\ndirections 1\n"
#define UP AD MOVE("w add 1")
#define TWO "touched 2\n"
#define ONE RELU("1") TWO
#define SUM WHO("sum", "w") ONE
#define TIE(rule, taken) WHO("sum", "w") "tie ReduceMax " rule "\ntouched 1\n" taken
#define TIE_OF(op, rule) WHO("sum", "w") "tie " op " " rule "\ntouched 1\n" AD MOVE("w at 0 1\nmove w at 1 1/2")
#define HULL(n) "evidence hull " n "\n"
#define CELL(weight, sides) "cell " weight " " sides "\ndirections 1\n"
#define MIX "evidence mix 1\nmix Relu_2 1/2\n"
#define BOTH "cell mix -\ndirections 1\n" MOVE("w add -1") "cell mix +\ndirections 1\n" MOVE("w add 1")
#define HALF WHO("sum", "w") RELU("1/2") TWO

#define THIRD WHO("sum", "w") RELU("1/3") TWO
#define SIMPLICES(n) "evidence simplices " n "\n"
#define LEFT_RIGHT MOVE("w at 0 2") MOVE("w at 0 -1")
#define TRIANGLE WHO("sum", "w") RELU("1/2") "touched 3\n" SIMPLICES("1") "block 3 0 1 2\n"
#define DOWN MOVE("w add -1")
#define NO_OTHERS "directions 0\n"
#define BALANCE(groups, of) "evidence balance " groups "\n" of
#define IN(sides) "cell " sides "\ndirections 1\n"
#define PLUS_PLUS IN("++") MOVE("w add 1")
#define PLUS_MINUS IN("+-") MOVE("w at 0 1\nmove w at 1 -1")
#define MINUS_PLUS IN("-+") MOVE("w at 0 -1\nmove w at 1 1")
#define MINUS_MINUS IN("--") MOVE("w add -1")
#define PAIRED BALANCE("2", "group 2 0\ngroup 2 1\n")
#define BESIDE(of) WHO("sum", "w c") RELU("1/3") "tie ReduceMax mean\n" TWO BALANCE("2", of)
#define A_IN(sign, by) IN("a" sign) MOVE("w at 0 2\nmove w at 1 1\nmove c at 0 " by)
#define B_IN(sign, by) IN("b" sign) MOVE("w at 1 1\nmove c at 0 " by)
#define C_IN(sign, by) IN("c" sign) MOVE("w at 1 -1\nmove c at 0 " by)
#define HALF_REACHED RELU("1/2") TWO
#define E_SIDES(slope) WHO("sum", "w") RELU(slope) TWO BALANCE("1", "group 2 0 1\n") IN("+-") MOVE("w at 0 1") IN("-+") MOVE("w at 0 -1")
#define ABC MOVE("w at 0 2\nmove w at 1 1") MOVE("w at 1 1") MOVE("w at 1 -1")

typedef struct {
  void (*make)(plain_tape *t);
  void (*change)(point *p);
  const char *lines, *why; /* NULL: it holds */
} lined;

static const lined cases[] = {
  /* loss */
  {make_two, NULL, SUM UP, NULL},
  {make_two, NULL, WHO("some", "w") ONE UP, "unknown loss 'some'"},
  {make_two, NULL, WHO("mse", "w") ONE UP, NULL},
  {make_two, own_mse, SUM UP, "own loss is another"},
  {make_two, own_mse, WHO("mse", "w") ONE UP, NULL},
  {make_two, no_target, SUM UP, NULL},
  {make_two, no_target, WHO("mse", "w") ONE UP, "no y for each sample"},
  {make_two, target_number, WHO("mse", "w") ONE UP, "no y for each sample"},
  {make_two, target_of_two, WHO("mse", "w") ONE UP, "no y for each sample"},
  {make_two, target_wide, WHO("mse", "w") ONE UP, "the output's shape"},
  {make_two, target_flat, WHO("mse", "w") ONE UP, "the output's shape"},
  {make_two, declared_so, WHO("mse", "w") ONE UP, NULL},
  {make_two, declared_open, WHO("mse", "w") ONE UP, NULL},
  {make_two, declared_flat, WHO("mse", "w") ONE UP, "the model declares"},
  {make_two, declared_long, WHO("mse", "w") ONE UP, "the model declares"},
  {make_two, declared_wide, WHO("mse", "w") ONE UP, "the model declares"},
  {make_two, undeclared, WHO("mse", "w") ONE UP, NULL},
  {make_pair, label_0, WHO("ce", "w") ONE UP, NULL},
  {make_pair, label_1, WHO("ce", "w") ONE UP, NULL},
  {make_pair, label_2, WHO("ce", "w") ONE UP, "label 0 is no class"},
  {make_pair, label_below, WHO("ce", "w") ONE UP, "label 0 is no class"},
  {make_e_kink_more, NULL, WHO("sum", "w") RELU("0") "touched 1\n" HULL("1") CELL("1", "+") MOVE("w at 0 1"), "not rational"}, /* e + 1 is not 1 */
  {make_e_kink, NULL, WHO("sum", "w") RELU("1/2") "touched 1\n" HULL("1") CELL("1", "+") MOVE("w at 0 1"), "not rational"},
  {make_e_kink, NULL, WHO("sum", "w") RELU("1") "touched 1\n" HULL("1") CELL("1", "+") MOVE("w at 0 1"), NULL},
  {make_shares_apart, label_1, WHO("ce", "w") RELU("1") TWO HULL("1") CELL("1", "+-") MOVE("w at 0 1\nmove w at 1 -1"), "not rational"},
  {make_shares_apart, label_1, WHO("ce", "w") RELU("1") TWO HULL("1") CELL("1", "++") MOVE("w at 0 1\nmove w at 1 1"), NULL},
  {make_pair, label_ignored, WHO("ce", "w") ONE UP, "every label is ignored"},
  {make_pair, label_real, WHO("ce", "w") ONE UP, "an integer label"},
  {make_pair, label_row, WHO("ce", "w") ONE UP, "an integer label"},
  {make_pair, output_cube, WHO("ce", "w") ONE UP, "an integer label"},
  /* wrt */
  {make_two, NULL, WHO("sum", "*") ONE UP, NULL},
  {make_two, NULL, WHO("sum", "*") ONE AD MOVE("w add 1\nmove c add 1"), NULL},
  {make_two, other_is_none, WHO("sum", "*") ONE AD MOVE("w add 1\nmove c add 1"), "no parameter 'c'"},
  {make_two, none_is, WHO("sum", "*") ONE UP, "the model has none"},
  {make_two, NULL, "loss sum\nwrt\nprofile hand\n" ONE UP, "no parameter is named"},
  {make_two, NULL, WHO("sum", "c w") ONE UP, NULL},
  {make_two, NULL, WHO("sum", "w w") ONE UP, "'w' is named twice"},
  {make_two, NULL, WHO("sum", "w *") ONE UP, "'*' is not a name"},
  {make_two, NULL, WHO("sum", "d") ONE UP, "no parameter 'd'"},
  {make_two, input_named, WHO("sum", "x") ONE UP, "no parameter 'x'"},
  {make_two, NULL, WHO("sum", "* w") ONE UP, "more than was expected"},
  {make_other_moves, NULL, WHO("sum", "w c") ONE HULL("1") CELL("1", "++") MOVE("w at 0 1\nmove c at 0 1"), NULL},
  {make_other_moves, NULL, WHO("sum", "w c") ONE HULL("1") CELL("1", "+-") MOVE("w at 0 1\nmove c at 0 -1"), "is not AD's output"},
  {make_two, NULL, WHO("sum", "w") RELU("1") "touched 1\n" UP, "the number of touched kinks is 2"},
  {make_two, NULL, WHO("sum", "w") RELU("1") "touched 3\n" UP, "the number of touched kinks is 2"},
  {make_two, NULL, "wrt w\n", "'loss' is expected"},
  {make_two, NULL, WHO("sum", "w") TWO UP, "'proxy' is expected"},
  {make_two, NULL, WHO("sum", "w") "proxy Abs 0 1\n" TWO UP, "the proxy of kink 0 of Relu is expected"},
  {make_two, NULL, WHO("sum", "w") "proxy Relu 1 1\n" TWO UP, "the proxy of kink 0 of Relu is expected"},
  {make_two, NULL, WHO("sum", "w") RELU("right") TWO UP, NULL},
  {make_two, NULL, WHO("sum", "w") RELU("left") TWO UP, "wrong side"},
  {make_two, NULL, WHO("sum", "w") RELU("left") TWO AD MOVE("w add -1"), NULL},
  {make_two, NULL, WHO("sum", "w") RELU("0") TWO AD MOVE("w add -1"), NULL},
  {make_two, NULL, WHO("sum", "w") RELU("2/3") TWO UP, "gives it no side"},
  /* evidence and its words */
  {make_two, NULL, SUM "evidence some\n", "'some' does not prove in-bouligand"},
  {make_two, NULL, SUM "evidence mix 1\n", "'mix' does not prove in-bouligand"},
  {make_two, NULL, SUM UP "leaf\n", "'end' is expected"},
  {make_two, NULL, SUM "evidence ad\ncell mix\ndirections 0\n", "'cell ad' is expected"},
  {make_two, NULL, SUM "evidence ad\ncell ad +\ndirections 0\n", "more than was expected"},
  {make_two, NULL, SUM "evidence ad\ncell ad\ndirections 0\n", "no direction moves touched kink 0"},
  {make_two, NULL, SUM "evidence ad\ncell ad\ndirections 1\n" MOVE("w at 0 1"), "no direction moves touched kink 1 (node 2 '', feature 1, sample 0)"},
  {make_two, NULL, SUM "evidence ad\ncell ad\ndirections 2\n" MOVE("w at 0 1") MOVE("w at 1 3"), NULL},
  {make_two, NULL, SUM "evidence ad\ncell ad\ndirections 2\n" MOVE("w at 0 1") MOVE("w add -1"), "touched kink 1 (node 2 '', feature 1, sample 0) moves to"},
  {make_two, NULL, SUM "evidence ad\ncell ad\ndirections 2\n" MOVE("w add 1") MOVE("w add -1"), NULL},
  /* moves */
  {make_two, NULL, SUM AD MOVE("w at 0 1\nmove w at 1 1"), NULL},
  {make_two, NULL, SUM AD MOVE("w at 0 2\nmove w add 1\nmove w at 0 -1"), NULL},
  {make_two, NULL, SUM AD MOVE("w at 0 -2\nmove w add 1"), "wrong side"},
  {make_two, NULL, SUM AD MOVE("w copy 1"), "no direction moves"},
  {make_two, NULL, SUM AD MOVE("w at 0 1\nmove w at 2 1"), "no entry of 'w'"},
  {make_two, NULL, SUM AD MOVE("w add 0"), "or a coefficient 0"},
  {make_two, NULL, SUM AD MOVE("w set 1"), "copy, add or at is expected, not 'set'"},
  {make_two, NULL, SUM AD MOVE("c add 1"), "parameter 'c' is not in wrt"},
  {make_two, NULL, SUM AD "direction\n", "'move' is expected"},
  /* ties: of w0, w1 and w0 - w1 */
  {make_window, NULL, TIE("first", AD MOVE("w at 0 1\nmove w at 1 1/2")), NULL},
  {make_window, NULL, TIE("last", AD MOVE("w at 0 1\nmove w at 1 1/2")), "wrong side"},
  {make_window, NULL, TIE("last", AD MOVE("w at 1 -1")), NULL},
  {make_window, NULL, TIE("mean", AD MOVE("w at 1 -1")), "does not rest, and what AD does gives it no side"},
  {make_window, NULL, TIE("hybrid 0", AD MOVE("w at 0 1\nmove w at 1 1/2")), NULL},
  {make_window, NULL, TIE("hybrid 1/2", AD MOVE("w at 0 1\nmove w at 1 1/2")), "gives it no side"},
  {make_window, NULL, TIE("some", AD MOVE("w at 0 1\nmove w at 1 1/2")), "unknown tie rule 'some'"},
  {make_window, NULL, WHO("sum", "w") "tie MaxPool first\ntouched 1\n" UP, "the tie rule of ReduceMax is expected"},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "a") MOVE("w at 0 1\nmove w at 1 1/2")), NULL},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "b") MOVE("w at 1 1")), "is not AD's output"},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "d") MOVE("w at 1 1")), "has no side 'd'"},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "+") MOVE("w at 1 1")), "has no side '+'"},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "{3}") MOVE("w at 1 1")), "has no side '{'"},
  {make_window, NULL, TIE("first", HULL("1") CELL("1", "") MOVE("w at 1 1")), "one space apart"},
  {make_window, NULL, TIE("mean", "evidence hull 2\n" CELL("2/3", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1/3", "c") MOVE("w at 1 -1")),
   "one for this verdict"},
  {make_window, NULL, TIE("last", SIMPLICES("1") "block 1 0\n" MOVE("w at 1 -1") NO_OTHERS), NULL},
  {make_window, NULL, TIE("mean", SIMPLICES("1") "block 3 0\n" ABC NO_OTHERS), "blocks of one cell each are expected for this verdict"},
  {make_window, NULL, TIE("first", AD MOVE("w at 0 1\nmove w at 1 2")), "wrong side"}, /* the second is larger than the first */
  {make_window, of_all, TIE_OF("GlobalMaxPool", "first"), NULL},
  {make_window, of_pool, TIE_OF("MaxPool", "first"), NULL},
  {make_window, of_max, TIE_OF("Maximum", "first"), NULL},
  {make_window, of_max, TIE_OF("Max", "first"), "the tie rule of Maximum is expected"},
  {make_window, of_min, TIE_OF("Minimum", "first"), NULL},
  {make_window, of_smallest, TIE_OF("ReduceMin", "first"), NULL},
  {make_window, of_sorted, TIE_OF("Sorted", "first"), NULL},
  {make_window, of_sorted, TIE_OF("Sorted", "mean"), "unknown tie rule 'mean'"},
  {make_window, of_sorted, TIE_OF("Sorted", "last"), "unknown tie rule 'last'"},
  {make_window, of_top, TIE_OF("TopK", "first"), NULL},
  {make_window, of_top, TIE_OF("TopK", "hybrid 0"), "unknown tie rule 'hybrid'"},
  {make_window, of_none, TIE_OF("TopK", "first"), "windows of Gemm, which has no tie rule"},
  {make_window, hundreds, TIE("last", HULL("1") CELL("1", "{110}") MOVE("w at 0 1")), NULL},
  {make_window, hundreds, TIE("last", HULL("1") CELL("1", "{30}") MOVE("w at 0 1")), "wrong side"},
  {make_window, hundreds, TIE("last", HULL("1") CELL("1", "{100}") MOVE("w at 0 1")), "wrong side"},
  {make_window, hundreds, TIE("first", HULL("1") CELL("1", "z") MOVE("w at 0 1")), "wrong side"},
  {make_window, hundreds, TIE("first", HULL("1") CELL("1", "a") MOVE("w at 0 -1")), NULL},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{27}") MOVE("w at 0 1")), NULL},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{027}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{28}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{27") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{27:") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{2:}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{2/}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, many, TIE("last", HULL("1") CELL("1", "{18446744073709551643}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, as_many, TIE("last", HULL("1") CELL("1", "{26}") MOVE("w at 0 1")), "has no side '{'"},
  {make_window, as_many, TIE("last", HULL("1") CELL("1", "z") MOVE("w at 0 1")), NULL},
  {make_touching, NULL, TIE("last", HULL("1") CELL("1", "c") MOVE("w at 1 1")), NULL},
  {make_touching, NULL, TIE("first", HULL("1") CELL("1", "b") MOVE("w at 0 1")), NULL}, /* of one derivative with a */
  {make_touching, NULL, TIE("first", HULL("1") CELL("1", "b") MOVE("w at 1 1")), "wrong side"},
  {make_touching_two, NULL, TIE("mean", AD MOVE("w at 0 1")), NULL},
  {make_touching_two, NULL, TIE("mean", HULL("1") CELL("1", "b") MOVE("w at 0 1")), NULL},
  {make_behind, NULL, WHO("sum", "w") "tie ReduceMax first\n" TWO AD MOVE("w at 0 1"), NULL},
  {make_behind, NULL, WHO("sum", "w") "tie ReduceMax first\ntouched 1\n" AD MOVE("w at 0 1"), "the number of touched kinks is 2"},
  {make_e_less, NULL, SUM UP, NULL},
  {make_e_less, NULL, SUM AD MOVE("w at 1 -1"), "wrong side"},
  {make_e_less, NULL, SUM AD MOVE("w at 0 1"), "no direction moves touched kink 0"},
  {make_e_near, near_e, SUM "evidence ad\ncell ad\ndirections 2\n" MOVE("w at 0 -1") MOVE("w at 1 1"), NULL},
  {make_e_near, near_e, SUM "evidence ad\ncell ad\ndirections 2\n" MOVE("w at 0 1") MOVE("w at 1 1"), /* few bits do not tell that */
   "touched kink 1 (node 5 '', feature 1, sample 0) moves to the wrong side"},
  /* compensation */
  {make_nothing, NULL, HALF "evidence compensation\n", NULL},
  {make_nothing, NULL, HALF "evidence compensation\ncut 0\n", "has a derivative by a parameter that is not known to be 0"},
  {make_two, NULL, HALF "evidence compensation\n", "the loss has a derivative by the output of touched kink 0"},
  {make_two, NULL, HALF "evidence compensation\ncut 0\n", "the loss has a derivative by the output of touched kink 1"},
  {make_two, NULL, HALF "evidence compensation\ncut 0\ncut 1\n", "touched kink 0 (node 2 '', feature 0, sample 0) has a derivative by a parameter"},
  {make_two, NULL, HALF "evidence compensation\ncut 1\ncut 0\n", "touched kinks in increasing order are expected"},
  {make_two, NULL, HALF "evidence compensation\ncut 0\ncut 0\n", "touched kinks in increasing order are expected"},
  {make_two, NULL, HALF "evidence compensation\ncut 2\n", "touched kinks in increasing order are expected"},
  {make_constant, NULL, WHO("sum", "w") RELU("1/2") "touched 3\nevidence compensation\ncut 2\n", "is constant, and need not be cut off"},
  {make_constant, NULL, WHO("sum", "w") RELU("1") "touched 3\n" UP, NULL},
  {make_constant, NULL, WHO("sum", "w") RELU("1") "touched 3\n" HULL("1") CELL("1", "++-") MOVE("w add 1"), NULL},
  {make_exp_window, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax first\n" TWO "evidence compensation\n", "the output of touched kink 0"},
  /* hulls */
  {make_untouched, NULL, WHO("sum", "w") RELU("1") "touched 0\n" HULL("1") "cell 1 .\ndirections 0\n", NULL},
  {make_untouched, NULL, WHO("sum", "w") RELU("1") "touched 0\n" HULL("1") "cell 1 +\ndirections 0\n", "one side for each touched kink"},
  {make_untouched, NULL, WHO("sum", "w") RELU("1") "touched 0\n" HULL("1") "cell 1 ..\ndirections 0\n", "one side for each touched kink"},
  {make_two, NULL, SUM HULL("0"), "one cell or more"},
  {make_two, NULL, SUM HULL("2"), "one for this verdict"},
  {make_two, NULL, SUM HULL("1") CELL("1", "+") MOVE("w add 1"), "one side for each touched kink"},
  {make_two, NULL, SUM HULL("1") CELL("1", "+++") MOVE("w add 1"), "one side for each touched kink"},
  {make_two, NULL, SUM HULL("1") CELL("1", "+a") MOVE("w add 1"), "has no side 'a'"},
  {make_two, NULL, SUM HULL("1") CELL("2", "++") MOVE("w add 1"), "do not sum to 1"},
  {make_two, NULL, SUM HULL("1") CELL("-1", "++") MOVE("w add 1"), "a weight is negative"},
  {make_two, NULL, SUM HULL("1") CELL("1", "++") MOVE("w add 1"), NULL},
  {make_two, NULL, SUM HULL("1") CELL("1", "+-") MOVE("w at 0 1\nmove w at 1 -1"), "is not AD's output"},
  {make_by_samples, NULL, WHO("sum", "w") RELU("1") TWO HULL("1") CELL("1", "++") MOVE("w at 1 1"), NULL},
  {make_by_samples, NULL, WHO("sum", "w") RELU("1") TWO HULL("1") CELL("1", "--") MOVE("w at 1 -1"), "is not AD's output"},
  {make_other_sample, NULL, WHO("sum", "w") RELU("1") "touched 1\n" HULL("1") CELL("1", "+") MOVE("w at 0 1"), NULL},
  {make_other_sample, NULL, WHO("sum", "w") RELU("0") "touched 1\n" HULL("1") CELL("1", "+") MOVE("w at 0 1"), "is not AD's output"},
  /* balance, and simplices, of one cell */
  {make_two, NULL, SUM BALANCE("1", "group 1 0 1\n") PLUS_PLUS, NULL},
  {make_two, NULL, SUM BALANCE("1", "group 1 0\n") PLUS_PLUS, NULL},
  {make_two, NULL, SUM BALANCE("2", "group 1 0\ngroup 1 1\n") PLUS_PLUS, NULL},
  {make_two, NULL, SUM BALANCE("1", "group 1 0 1\n") PLUS_MINUS, "1 cells, for changes of a larger dimension"},
  {make_two, NULL, SUM BALANCE("2", "group 1 0\ngroup 1 1\n") PLUS_MINUS, "1 cells, for changes of a larger dimension"},
  {make_two, NULL, SUM BALANCE("1", "group 1 0\n") PLUS_MINUS, "touched kink 1 (node 2 '', feature 1, sample 0) has another slope than AD's"},
  {make_two, NULL, SUM BALANCE("1", "group 1 1\n") MINUS_PLUS, "touched kink 0 (node 2 '', feature 0, sample 0) has another slope than AD's"},
  {make_two, NULL, SUM BALANCE("1", "group 2 0 1\n") PLUS_PLUS, "one cell is expected for this verdict"},
  {make_two, NULL, SUM BALANCE("1", "group 1 0 1\n") PLUS_PLUS PLUS_PLUS, "'end' is expected"},
  {make_window, NULL, TIE("first", SIMPLICES("1") "block 1 0\n" MOVE("w at 0 2\nmove w at 1 1") NO_OTHERS), NULL}, /* b and c play no part */
  {make_window, NULL, TIE("first", BALANCE("1", "group 1 0\n") IN("a") MOVE("w at 0 2\nmove w at 1 1")), NULL},
  {make_window, NULL, TIE("first", BALANCE("1", "group 1 0\n") IN("b") MOVE("w at 1 1")), "for changes of a larger dimension"},
};

/* Of other verdicts. */
static const lined inside[] = {
  {make_two, NULL, HALF MIX BOTH, NULL},
  {make_two, NULL, HALF "evidence mix 0\n", "a mix is of 1 to 30 nodes"},
  {make_two, NULL, HALF "evidence mix 31\n", "a mix is of 1 to 30 nodes"},
  {make_two, NULL, HALF "evidence mix 30\nmix Relu_3 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_1 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_22 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_2%401 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Gemm_1 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_2%403 1/2\n", "no such node"},
  {make_two, in_time, HALF "evidence mix 1\nmix Relu_2%403 1/2\n" BOTH, NULL},
  {make_two, at_first, HALF "evidence mix 1\nmix Relu_2%401 1/2\n" BOTH, NULL},
  {make_two, in_time, HALF "evidence mix 1\nmix Relu_2%402 1/2\n", "no such node"},
  {make_two, in_time, HALF MIX, "no such node"},
  {make_two, named, HALF MIX, "no such node"},
  {make_two, named, HALF "evidence mix 1\nmix here 1/2\n" BOTH, NULL},
  {make_two, named, HALF "evidence mix 1\nmix her 1/2\n" BOTH, "no such node"},
  {make_early, NULL, HALF "evidence mix 1\nmix Relu_1 1/2\ncell mix -\ndirections 0\n", "gives it no side"},
  {make_two, NULL, HALF "evidence mix 2\nmix Relu_2 1/2\nmix Relu_2 1/2\n", "no such node"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_2 0\n", "not between 0 and 1"},
  {make_two, NULL, HALF "evidence mix 1\nmix Relu_2 1\n", "not between 0 and 1"},
  {make_two, NULL, HALF MIX "cell mix +\ndirections 1\n" MOVE("w add 1"), "the cells' signs must be in order"},
  {make_two, NULL, HALF MIX "cell mix --\ndirections 1\n" MOVE("w add -1"), "one sign for each mixed node"},
  {make_two, NULL, HALF MIX "cell ad -\ndirections 1\n" MOVE("w add -1"), "'cell mix' is expected"},
  {make_two, NULL, HALF MIX "cell mix -\ndirections 1\n" MOVE("w add -1") "cell mix -\n", "the cells' signs must be in order"},
  {make_two, NULL, HALF MIX "cell mix -\ndirections 1\n" MOVE("w add -1"), "'cell' is expected"},
  {make_two, NULL, WHO("sum", "w") RELU("1/3") TWO "evidence mix 1\nmix Relu_2 2/3\ncell mix -\ndirections 1\n" MOVE("w add -1")
   "cell mix +\ndirections 1\n" MOVE("w add 1"), NULL},
  {make_two, NULL, WHO("sum", "w") RELU("1/3") TWO "evidence mix 1\nmix Relu_2 1/3\ncell mix -\ndirections 1\n" MOVE("w add -1"), "gives it no side"},
  {make_two, NULL, HALF "evidence ad\n", "'ad' does not prove in-clarke"},
  {make_two, NULL, HALF "evidence separator\n", "'separator' does not prove in-clarke"},
  /* Slopes are enough where gradients are not rational, and where no kink that is split is behind another that has an effect. */
  {make_exp_both, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "--") MOVE("w add -1"), NULL},
  {make_exp_both, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "-+") MOVE("w at 0 -1\nmove w at 1 1"), "not rational"},
  {make_exp_both, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "+-") MOVE("w at 0 1\nmove w at 1 -1"), "not rational"},
  {make_exp_first, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "-+") MOVE("w at 0 -1\nmove w at 1 1"), NULL},
  {make_exp_first, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "+-") MOVE("w at 0 1\nmove w at 1 -1"), "not rational"},
  {make_exp_last, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "+-") MOVE("w at 0 1\nmove w at 1 -1"), NULL},
  {make_exp_last, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "-+") MOVE("w at 0 -1\nmove w at 1 1"), "not rational"},
  {make_exp_behind, NULL, WHO("sum", "w") RELU("1/2") "touched 4\n" HULL("2") CELL("1/2", "++++") MOVE("w add 1")
   CELL("1/2", "----") MOVE("w add -1"), NULL},
  {make_exp_chain, NULL, WHO("sum", "w") RELU("1/2") "touched 4\n" HULL("2") CELL("1/2", "++++") MOVE("w add 1")
   CELL("1/2", "----") MOVE("w add -1"), "not rational"},
  {make_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1/2") TWO HULL("2") CELL("1/2", "++") MOVE("w at 0 1")
   CELL("1/2", "--") MOVE("w at 0 -1"), "is not AD's output"},
  {make_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1/2") TWO HULL("2") CELL("3/8", "++") MOVE("w at 0 1")
   CELL("5/8", "--") MOVE("w at 0 -1"), NULL},
  {make_exp_flat, NULL, WHO("sum", "w") "proxy Abs 0 1\n" RELU("1/2") TWO HULL("2") CELL("1/2", "++") MOVE("w at 0 1")
   CELL("1/2", "--") MOVE("w at 0 -1"), NULL},
  {make_exp_flat, NULL, WHO("sum", "w") "proxy Abs 0 1/2\n" RELU("1/2") TWO HULL("2") CELL("1/2", "++") MOVE("w at 0 1")
   CELL("1/2", "--") MOVE("w at 0 -1"), "not rational"},
  {make_exp_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1") TWO HULL("1") CELL("1", "++") MOVE("w at 0 1"), NULL},
  {make_exp_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1") TWO HULL("2") CELL("0", "--") MOVE("w at 0 -1")
   CELL("1", "++") MOVE("w at 0 1"), "not rational"}, /* a cell of weight 0 is one, too */
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax mean\n" TWO HULL("2") CELL("1/2", "+a") MOVE("w at 0 1")
   CELL("1/2", "-b") MOVE("w at 0 -1"), NULL},
  {make_exp_three, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax mean\ntouched 3\n" HULL("4") CELL("1/3", "++a") MOVE("w at 0 2\nmove w at 1 1")
   CELL("1/6", "-+b") MOVE("w at 0 -1\nmove w at 1 1") CELL("1/6", "+-c") MOVE("w at 0 1\nmove w at 1 -1") CELL("1/3", "--c")
   MOVE("w at 0 -1\nmove w at 1 -1"), "not rational"},
  /* Each sum is off, and those of two of the window's options cancel with those of the kinks. */
  {make_exp_three, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax mean\ntouched 3\n" HULL("4") CELL("1/3", "++a") MOVE("w at 0 2\nmove w at 1 1")
   CELL("1/4", "-+b") MOVE("w at 0 -1\nmove w at 1 1") CELL("1/12", "+-c") MOVE("w at 0 1\nmove w at 1 -1") CELL("1/3", "--c")
   MOVE("w at 0 -1\nmove w at 1 -1"), "not rational"},
  {make_exp_three, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax mean\ntouched 3\n" HULL("4") CELL("1/3", "++a") MOVE("w at 0 2\nmove w at 1 1")
   CELL("1/6", "++b") MOVE("w at 0 1\nmove w at 1 2") CELL("1/6", "--b") MOVE("w at 0 -3\nmove w at 1 -1") CELL("1/3", "--c")
   MOVE("w at 0 -1\nmove w at 1 -1"), NULL},
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax first\n" TWO HULL("2") CELL("1/2", "+a") MOVE("w at 0 1")
   CELL("1/2", "-b") MOVE("w at 0 -1"), "not rational"},
  /* simplices */
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0\nblock 2 1\n" LEFT_RIGHT MOVE("w at 1 1") MOVE("w at 1 -3") NO_OTHERS, NULL},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 1\nblock 2 0\n" MOVE("w at 1 1") MOVE("w at 1 -3") LEFT_RIGHT NO_OTHERS, NULL},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0\nblock 2 1\n" LEFT_RIGHT MOVE("w at 1 1") MOVE("w at 1 3") NO_OTHERS, "not inside the simplex"},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0\nblock 2 1\n" LEFT_RIGHT MOVE("w add 1"), "touched kink 0 (node 2 '', feature 0, sample 0) moves, as it"},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0\nblock 2 1\n" MOVE("w add 1"), "touched kink 1 (node 2 '', feature 1, sample 0) moves, as it"},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0\nblock 2 1\n" MOVE("w at 1 1"), "moves, as it must not"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 0\n" MOVE("w at 1 1"), "this direction does not move touched kink 0"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 0\n" LEFT_RIGHT NO_OTHERS, "is in no block, and what AD does gives it no side"},
  {make_two, NULL, THIRD SIMPLICES("0"), "one block or more is expected"},
  {make_two, NULL, THIRD SIMPLICES("3"), "one block or more is expected"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 1 0\n", "each in one block"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 0 0\n", "each in one block"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 2\n", "each in one block"},
  {make_two, NULL, THIRD SIMPLICES("2") "block 2 0 1\nblock 2 1\n", "each in one block"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 2 0 1\n" MOVE("w add 1") MOVE("w add -1") NO_OTHERS, "2 cells, for changes of a larger dimension"},
  {make_two, NULL, THIRD SIMPLICES("1") "block 4 0 1\n" MOVE("w add 1") MOVE("w add -1") MOVE("w add 1") MOVE("w add -1") NO_OTHERS,
   "4 cells, for changes of dimension 2"},
  {make_curved, NULL, THIRD SIMPLICES("1") "block 2 0\n", "touched kink 0 (node 4 '', feature 0, sample 0): its argument is not affine"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w at 1 1"), NULL},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1/2\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w at 1 -1"), NULL},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w at 1 -1"), "wrong side"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w add 1"), "moves, as it must not"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT NO_OTHERS, "no direction moves touched kink 1"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT NO_OTHERS, "gives it no side"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1/3") TWO SIMPLICES("1") "block 4 0 1\n" MOVE("w add 1") MOVE("w add -1")
   MOVE("w at 0 1\nmove w at 1 -1") MOVE("w at 0 -1\nmove w at 1 1") NO_OTHERS, "for changes of dimension 2"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("2/3") TWO SIMPLICES("1") "block 3 0 1\n" MOVE("w add 1") MOVE("w add -1")
   MOVE("w at 0 1\nmove w at 1 -1") NO_OTHERS, NULL},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("2/3") TWO SIMPLICES("1") "block 3 0 1\n" MOVE("w add 1") MOVE("w add -1")
   MOVE("w at 0 -1\nmove w at 1 1") NO_OTHERS, "not inside the simplex"},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1") TWO SIMPLICES("1") "block 2 1\n" MOVE("w at 1 1") MOVE("w at 1 -1")
   "directions 1\n" MOVE("w at 0 1"), NULL},
  {make_apart, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" RELU("1/3") TWO SIMPLICES("1") "block 2 0 1\n" MOVE("w at 0 2\nmove w at 1 1")
   MOVE("w at 0 -1\nmove w at 1 1") NO_OTHERS, NULL},
  {make_apart_chain, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" RELU("1") "touched 3\n" SIMPLICES("1") "block 2 1\n" MOVE("w at 1 1")
   MOVE("w at 1 -1") "directions 1\n" MOVE("w at 0 1"), NULL},
  {make_clipped, NULL, WHO("sum", "w") "proxy Clip 0 1\nproxy Clip 1 1/2\n" RELU("1") TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT NO_OTHERS,
   "no direction moves touched kink 1"},
  {make_constant, NULL, WHO("sum", "w") RELU("1/3") "touched 3\n" SIMPLICES("2") "block 2 0\nblock 2 1\n" LEFT_RIGHT MOVE("w at 1 1")
   MOVE("w at 1 -3") NO_OTHERS, NULL},
  /* Changes (-1, -3/2), (0, 3/2) and (1, -1/2); with (1, 3/2) in another's place 0 is on an edge, or there is no simplex. */
  {make_three, NULL, TRIANGLE DOWN MOVE("w at 0 -1\nmove w at 1 2") MOVE("w at 0 2\nmove w at 1 -1") NO_OTHERS, NULL},
  {make_three, NULL, TRIANGLE MOVE("w at 0 -1\nmove w at 1 2") MOVE("w at 0 2\nmove w at 1 -1") DOWN NO_OTHERS, NULL},
  {make_three, NULL, TRIANGLE MOVE("w at 0 2\nmove w at 1 -1") DOWN MOVE("w at 0 -1\nmove w at 1 2") NO_OTHERS, NULL},
  {make_three, NULL, TRIANGLE MOVE("w at 0 2\nmove w at 1 -1") MOVE("w at 0 -1\nmove w at 1 2") DOWN NO_OTHERS, NULL},
  {make_three, NULL, TRIANGLE DOWN MOVE("w add 1") MOVE("w at 0 2\nmove w at 1 -1") NO_OTHERS, "inside the simplex"},
  {make_three, NULL, TRIANGLE DOWN MOVE("w add 1") MOVE("w add 1") NO_OTHERS, "whether cells span a simplex"},
  {make_three, NULL, TRIANGLE DOWN MOVE("w at 0 -1\nmove w at 1 2") MOVE("w at 0 -2\nmove w at 1 3") NO_OTHERS, "whether cells span a simplex"},
  {make_window, NULL, TIE("mean", SIMPLICES("1") "block 3 1\n"), "each in one block"},
  {make_window, NULL, TIE("mean", SIMPLICES("1") "block 3 0\n" MOVE("w add 1")), "this direction does not move touched kink 0"},
  {make_window, NULL, TIE("mean", SIMPLICES("1") "block 3 0\n" ABC NO_OTHERS), NULL},
  {make_window, NULL, TIE("hybrid 1/2", SIMPLICES("1") "block 3 0\n" ABC NO_OTHERS), NULL},
  {make_window, NULL, TIE("hybrid 3/2", SIMPLICES("1") "block 2 0\n" MOVE("w at 1 1") MOVE("w at 1 -1") NO_OTHERS), NULL}, /* a plays no part */
  {make_window, NULL, TIE("first", SIMPLICES("1") "block 3 0\n" ABC NO_OTHERS), "not inside the simplex"},
  {make_window, NULL, TIE("last", SIMPLICES("1") "block 1 0\n" MOVE("w at 1 -1") NO_OTHERS), NULL},
  {make_window, NULL, TIE("last", SIMPLICES("1") "block 1 0\n" MOVE("w at 1 1") NO_OTHERS), "for changes of a larger dimension"},
  {make_window, NULL, TIE("mean", SIMPLICES("1") "block 3 0\n" MOVE("w at 0 1")), "this direction does not move touched kink 0"},
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1/3") "tie ReduceMax mean\n" TWO SIMPLICES("2") "block 2 0\nblock 2 1\n" MOVE("w at 0 1"), "moves, as it must not"},
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1/3") "tie ReduceMax mean\n" TWO SIMPLICES("2") "block 2 0\nblock 2 1\n" MOVE("w add 1") MOVE("w add -1")
   MOVE("w at 1 1") MOVE("w at 1 -1") NO_OTHERS, NULL},
  /* balance */
  {make_two, NULL, HALF PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS MINUS_MINUS, NULL},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS MINUS_MINUS, NULL},
  {make_two, NULL, THIRD PAIRED MINUS_MINUS MINUS_PLUS PLUS_MINUS PLUS_PLUS, NULL},
  {make_two, NULL, THIRD BALANCE("2", "group 2 1\ngroup 2 0\n") PLUS_PLUS MINUS_PLUS PLUS_MINUS MINUS_MINUS, NULL},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS MINUS_PLUS PLUS_MINUS MINUS_MINUS, "the cells are not one for each choice of the groups' cells"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS MINUS_PLUS, "the cells are not one for each choice"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS PLUS_MINUS, "the cells are not one for each choice"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_MINUS MINUS_MINUS, "the cells are not one for each choice"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_PLUS MINUS_PLUS MINUS_PLUS, "AD's output is not inside the simplex of cells"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS PLUS_PLUS PLUS_MINUS, "AD's output is not inside the simplex of cells"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS IN("+-") MOVE("w add 1"), "moves to the wrong side"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS "cell --\ndirections 0\n", "no direction moves touched kink 0"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS, "'cell' is expected"},
  {make_two, NULL, THIRD PAIRED PLUS_PLUS PLUS_MINUS MINUS_PLUS MINUS_MINUS MINUS_MINUS, "'end' is expected"},
  {make_two, NULL, THIRD PAIRED IN("+") MOVE("w add 1"), "one side for each touched kink is expected"},
  {make_two, NULL, THIRD PAIRED "leaf ++\n", "'cell' is expected"},
  {make_two, NULL, THIRD BALANCE("1", "group 3 0 1\n") MINUS_MINUS PLUS_MINUS MINUS_PLUS, NULL},
  {make_two, NULL, THIRD BALANCE("1", "group 3 0 1\n") PLUS_PLUS PLUS_MINUS MINUS_PLUS, "AD's output is not inside the simplex of cells"},
  {make_two, NULL, HALF BALANCE("1", "group 3 0 1\n") PLUS_PLUS MINUS_MINUS PLUS_MINUS, "AD's output is not inside the simplex of cells"}, /* on its edge */
  {make_two, NULL, THIRD BALANCE("1", "group 2 0 1\n") PLUS_PLUS MINUS_MINUS, "2 cells, for changes of a larger dimension"},
  {make_two, NULL, THIRD BALANCE("1", "group 4 0 1\n") PLUS_PLUS PLUS_MINUS MINUS_PLUS MINUS_MINUS, "4 cells, for changes of dimension 2"},
  {make_two, NULL, THIRD BALANCE("1", "group 2 0\n") PLUS_PLUS MINUS_PLUS, "touched kink 1 (node 2 '', feature 1, sample 0) has another slope than AD's"},
  {make_two, NULL, THIRD BALANCE("0", ""), "one group or more is expected"},
  {make_two, NULL, THIRD BALANCE("3", "group 2 0\n"), "one group or more is expected"},
  {make_two, NULL, THIRD BALANCE("1", "block 2 0\n"), "'group' is expected"},
  {make_two, NULL, THIRD BALANCE("1", "group 2 1 0\n"), "each in one group"},
  {make_two, NULL, THIRD BALANCE("1", "group 2 0 0\n"), "each in one group"},
  {make_two, NULL, THIRD BALANCE("1", "group 2 2\n"), "each in one group"},
  {make_two, NULL, THIRD BALANCE("2", "group 2 0 1\ngroup 2 1\n"), "each in one group"},
  {make_two, NULL, THIRD BALANCE("2", "group 2 0 1\ngroup 2 0\n"), "each in one group"},
  {make_two, NULL, THIRD BALANCE("1", "group 0 0\n"), "of 1 to 65536 cells"},
  {make_two, NULL, THIRD BALANCE("1", "group 65537 0\n"), "of 1 to 65536 cells"},
  {make_two, NULL, THIRD BALANCE("2", "group 256 0\ngroup 257 1\n"), "of 1 to 65536 cells"},
  {make_two, NULL, THIRD BALANCE("1", "group 65536 0\n") "leaf\n", "'cell' is expected"},
  {make_two, NULL, THIRD BALANCE("2", "group 256 0\ngroup 256 1\n") "leaf\n", "'cell' is expected"},
  {make_window_beside, NULL, BESIDE("group 3 0\ngroup 2 1\n") A_IN("+", "1") A_IN("-", "-1") B_IN("+", "1") B_IN("-", "-1") C_IN("+", "1")
   C_IN("-", "-1"), NULL},
  {make_window_beside, NULL, BESIDE("group 2 1\ngroup 3 0\n") A_IN("+", "1") B_IN("+", "1") C_IN("+", "1") A_IN("-", "-1") B_IN("-", "-1")
   C_IN("-", "-1"), NULL},
  {make_window_beside, NULL, BESIDE("group 3 0\ngroup 2 1\n") A_IN("+", "1") A_IN("-", "-1") B_IN("+", "1") B_IN("-", "-1") C_IN("+", "1")
   B_IN("-", "-1"), "the cells are not one for each choice"},
  {make_window_beside, NULL, BESIDE("group 2 1\ngroup 3 0\n") A_IN("+", "1") B_IN("+", "1") C_IN("+", "1") A_IN("-", "-1") B_IN("-", "-1")
   A_IN("-", "-1"), "the cells are not one for each choice"},
  {make_slant, NULL, WHO("sum", "w") RELU("1/2") "touched 3\n" BALANCE("1", "group 2 0 1\n") IN("+-+") MOVE("w add 1") IN("-+-") MOVE("w add -1"), NULL},
  {make_slant, NULL, WHO("sum", "w") RELU("2") "touched 3\n" BALANCE("1", "group 2 0 1\n") IN("+-+") MOVE("w add 1") IN("-+-") MOVE("w add -1"),
   "AD's output is not inside the simplex of cells"},
  {make_twice, NULL, WHO("sum", "w") RELU("1/2") "touched 3\n" BALANCE("1", "group 2 0 1\n") IN("+-+") MOVE("w add 1") IN("-+-") MOVE("w add -1"),
   "whether cells span a simplex"},
  {make_chain, NULL, HALF BALANCE("1", "group 2 0 1\n") IN("++") MOVE("w at 0 1") IN("-+") MOVE("w at 0 -1"), NULL},
  {make_chain, NULL, HALF BALANCE("1", "group 2 0 1\n") IN("--") MOVE("w at 0 -1") IN("++") MOVE("w at 0 1"), NULL},
  {make_chain, NULL, HALF BALANCE("2", "group 2 0\ngroup 1 1\n") IN("++") MOVE("w at 0 1") IN("--") MOVE("w at 0 -1"), "one for each choice"},
  {make_reached, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" HALF_REACHED BALANCE("1", "group 3 0 1\n") PLUS_PLUS MINUS_MINUS IN("-+")
   MOVE("w at 0 -1\nmove w at 1 1"), NULL},
  {make_reached, NULL, WHO("sum", "w") "proxy PRelu 0 3/4\n" HALF_REACHED PAIRED PLUS_PLUS IN("+-") MOVE("w at 0 1\nmove w at 1 -2") MINUS_PLUS
   MINUS_MINUS, "of several groups a kink is behind another"},
  /* In the last cell nothing comes from the first kink: AD's output (3/2, 1/2) is outside. */
  {make_reached, NULL, WHO("sum", "w") "proxy PRelu 0 3\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") PLUS_PLUS MINUS_MINUS,
   "2 cells, for changes of a larger dimension"},
  {make_reached, NULL, WHO("sum", "w") "proxy PRelu 0 3\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") MINUS_MINUS PLUS_PLUS,
   "2 cells, for changes of a larger dimension"},
  {make_constant, NULL, WHO("sum", "w") RELU("1/3") "touched 3\n" BALANCE("2", "group 2 0\ngroup 2 1\n") IN("+++") MOVE("w add 1")
   IN("+--") MOVE("w at 0 1\nmove w at 1 -1") IN("-+-") MOVE("w at 0 -1\nmove w at 1 1") IN("--+") MOVE("w add -1"), NULL},
  {make_constant, NULL, WHO("sum", "w") RELU("1/3") "touched 3\n" BALANCE("1", "group 2 0 2 1\n"), "each in one group"},
  {make_window, NULL, TIE("mean", BALANCE("1", "group 3 1\n")), "each in one group"},
  {make_abs_beside, NULL, WHO("sum", "w") RELU("3/2") "tie ReduceMax mean\n" TWO BALANCE("1", "group 2 0 1\n") IN("+a") MOVE("w at 0 1")
   IN("-b") MOVE("w at 0 -1"), NULL},
  {make_abs_beside, NULL, WHO("sum", "w") RELU("5/2") "tie ReduceMax mean\n" TWO BALANCE("1", "group 2 0 1\n") IN("+a") MOVE("w at 0 1")
   IN("-b") MOVE("w at 0 -1"), "AD's output is not inside the simplex of cells"},
  /* The quotient is constant in one cell alone. Beside 0 the derivative is 1 or -1, or 0; AD's is 3/4, or 2, or minus that. */
  {make_quotient_left, NULL, WHO("sum", "w") "proxy PRelu 0 3/2\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") IN("++") MOVE("w at 0 1")
   IN("-+") MOVE("w at 0 -1"), NULL},
  {make_quotient_left, NULL, WHO("sum", "w") "proxy PRelu 0 4\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") IN("++") MOVE("w at 0 1")
   IN("-+") MOVE("w at 0 -1"), "AD's output is not inside the simplex of cells"},
  {make_quotient_right, NULL, WHO("sum", "w") "proxy PRelu 0 3/2\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") IN("++") MOVE("w at 0 1")
   IN("-+") MOVE("w at 0 -1"), NULL},
  {make_quotient_right, NULL, WHO("sum", "w") "proxy PRelu 0 4\n" HALF_REACHED BALANCE("1", "group 2 0 1\n") IN("++") MOVE("w at 0 1")
   IN("-+") MOVE("w at 0 -1"), "AD's output is not inside the simplex of cells"},
  /* AD's output s (e - 2) is between e - 4 and 2 for slopes s from -1.7844... to 2.7844... */
  {make_e_sides, NULL, E_SIDES("0"), NULL},
  {make_e_sides, NULL, E_SIDES("1"), NULL},
  {make_e_sides, NULL, E_SIDES("348/125"), NULL},
  {make_e_sides, NULL, E_SIDES("557/200"), "AD's output is not inside the simplex of cells"},
  {make_e_sides, NULL, E_SIDES("-223/125"), NULL},
  {make_e_sides, NULL, E_SIDES("-357/200"), "AD's output is not inside the simplex of cells"},
  {make_exp_window, NULL, WHO("sum", "w") RELU("1/2") "tie ReduceMax first\n" TWO HULL("2") CELL("1/2", "+c") MOVE("w at 0 1\nmove w at 1 -1")
   CELL("1/2", "-b") MOVE("w at 0 -1\nmove w at 1 1"), NULL},
  {make_two, NULL, HALF HULL("0"), "one cell or more"},
  {make_two, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/2", "--") MOVE("w add -1"), NULL},
  {make_two, NULL, HALF HULL("2") CELL("1/2", "++") MOVE("w add 1") CELL("1/4", "--") MOVE("w add -1"), "do not sum to 1"},
  {make_window, NULL, TIE("mean", HULL("2") CELL("2/3", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1/3", "c") MOVE("w at 1 -1")), "is not AD's"},
  {make_window, NULL, TIE("mean", HULL("3") CELL("1/3", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1/3", "b") MOVE("w at 1 1")
   CELL("1/3", "c") MOVE("w at 1 -1")), NULL},
  {make_two_twice, NULL, TIE("mean", HULL("2") CELL("1/2", "a") MOVE("w at 0 1") CELL("1/2", "b") MOVE("w at 1 1")), NULL},
  {make_e_less, NULL, WHO("sum", "w") RELU("1/3") TWO SIMPLICES("1") "block 2 0\n" MOVE("w at 1 2") MOVE("w at 1 -1") NO_OTHERS, "and what AD does gives it no side"},
  {make_e_less, NULL, WHO("sum", "w") RELU("1") TWO SIMPLICES("1") "block 1 0\n" MOVE("w at 1 2") "directions 1\n" MOVE("w at 0 1"),
   "no direction moves touched kink 1"},
  {make_apart_tie, NULL, WHO("sum", "w") RELU("1/3") "tie ReduceMax first\n" TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w at 1 1"), NULL},
  {make_apart_tie, NULL, WHO("sum", "w") RELU("1/3") "tie ReduceMax first\n" TWO SIMPLICES("1") "block 2 0\n" LEFT_RIGHT "directions 1\n" MOVE("w at 1 -1"),
   "wrong side"},
  {make_window, NULL, TIE("hybrid 3", HULL("3") CELL("-1", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1", "b") MOVE("w at 1 1")
   CELL("1", "c") MOVE("w at 1 -1")), "negative"},
  {make_window, NULL, TIE("hybrid 3/2", HULL("3") CELL("0", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1/2", "b") MOVE("w at 1 1")
   CELL("1/2", "c") MOVE("w at 1 -1")), NULL},
};

#define THREE WHO("sum", "w") RELU("1") "touched 3\n"
#define V "v w 0 1\n"
#define DEAD "dead 2\nu 0 1\nu 1 1\n"
#define TREE "tree\nbranch 0\nbranch 1\n" DEAD "leaf\nbranch 1\nleaf\n" DEAD
#define BY THREE "evidence separator\n"
#define FORK BY V "tree\nbranch 0\nbranch 1\n"
#define BOUND THREE "evidence bound\n"
#define FOUR WHO("sum", "w") RELU("1") "touched 4\nevidence bound\n" V
#define CURVED WHO("sum", "w") "tie ReduceMax first\ntouched 2\n"
#define MANY WHO("sum", "w") "tie ReduceMax first\ntouched 1\n"
#define TIES WHO("sum", "w") "tie ReduceMax first\ntouched 2\n"
#define TIED_FORK TIES "evidence separator\n" V "tree\nbranch 0\nbranch 1\n"
#define DEAD_TIES "dead 2\nu 0 b 1\nu 1 b 1\n"
#define TIED_REST "leaf\nbranch 1\nleaf\nleaf\nbranch 1\nleaf\nleaf\n"

static const lined outside[] = {
  {make_twice, NULL, BY V TREE, NULL},
  {make_twice, NULL, BY "v w 0 1/3\n" TREE, NULL},
  {make_twice, NULL, BY "v w 0 -1\n" TREE, "not separated"},
  {make_twice, NULL, BY "v w 0 0\n" TREE, "nonzero entries of parameters in wrt"},
  {make_twice, NULL, BY "v w 2 1\n" TREE, "nonzero entries of parameters in wrt"},
  {make_twice, NULL, BY "v c 0 1\n" TREE, "nonzero entries of parameters in wrt"},
  {make_twice, NULL, BY "v d 0 1\n" TREE, "no parameter 'd'"},
  {make_twice, NULL, BY V "v w 1 1\n" TREE, "has not been branched on, and moves along v"},
  {make_twice, NULL, BY "v w 1 1\n" V TREE, "in order, are expected"},
  {make_twice, NULL, BY V V TREE, "in order, are expected"},
  {make_twice, NULL, WHO("sum", "w c") RELU("1") "touched 3\nevidence separator\n" V "v c 0 1\n" TREE, NULL},
  {make_twice, NULL, WHO("sum", "c w") RELU("1") "touched 3\nevidence separator\n" V "v c 0 1\n" TREE, "in order, are expected"},
  {make_twice, NULL, BY TREE, "'v' is expected"},
  {make_twice, NULL, FORK DEAD "leaf\nbranch 1\nleaf\nbranch 2\n" DEAD DEAD, NULL},
  {make_twice, NULL, BY V "tree\nbranch 3\n", "a branch on a touched kink after those above"},
  {make_twice, NULL, BY V "tree\nbranch 0\nbranch 0\n", "a branch on a touched kink after those above"},
  {make_twice, NULL, BY V "tree\nbranch 1\nbranch 0\n", "a branch on a touched kink after those above"},
  {make_twice, NULL, BY V "tree\nbranch 0\nbranch 1\n" DEAD "branch 2\nleaf\nleaf\nbranch 2\nbranch 1\n", "after those above"},
  {make_twice, NULL, FORK "dead 0\n", "a combination of no kinks"},
  {make_twice, NULL, FORK "dead 2\nu 0 1\nu 3 1\n", "there is no touched kink 3"},
  {make_twice, NULL, FORK "dead 2\nu 0 1\nu 2 1\n", "touched kink 2 (node 2 '', feature 2, sample 0) has not been branched on"},
  {make_twice, NULL, FORK "dead 2\nu 1 1\nu 0 1\n", "touched kinks in increasing order"},
  {make_twice, NULL, FORK "dead 2\nu 0 1\nu 0 1\n", "touched kinks in increasing order"},
  {make_twice, NULL, FORK "dead 2\nu 0 0\nu 1 1\n", "positive values are expected"},
  {make_twice, NULL, FORK "dead 2\nu 0 -1\nu 1 -1\n", "positive values are expected"},
  {make_twice, NULL, FORK "dead 2\nu 0 2\nu 1 1\n", "the combination of the derivatives is not zero"},
  {make_twice, NULL, FORK "dead 1\nu 0 1\n", "the combination of the derivatives is not zero"},
  {make_twice, NULL, FORK DEAD DEAD, "the combination of the derivatives is not zero"},
  {make_twice, NULL, FORK "branch 2\n" DEAD "dead 2\nu 0 1\nu 1 1\nleaf\nbranch 1\nleaf\n" DEAD, NULL},
  {make_twice, NULL, FORK "branch 2\ndead 3\nu 0 1\nu 1 1\nu 2 1\n", "the combination of the derivatives is not zero"},
  {make_twice, NULL, FORK "twig\n", "'leaf' is expected"},
  {make_twice, NULL, BY V TREE "leaf\n", "'end' is expected"},
  {make_twice, NULL, THREE "evidence ad\n", "'ad' does not prove not-in-clarke"},
  {make_twice, NULL, THREE "evidence hull 1\n", "'hull' does not prove not-in-clarke"},
  {make_twice, NULL, BY V "tree\nbranch 1\nleaf\n", "touched kink 0 (node 2 '', feature 0, sample 0) has not been branched on, and moves along v"},
  {make_twice_e_less, NULL, WHO("sum", "w") RELU("1") "touched 4\nevidence separator\n" V TREE, NULL},
  /* what is affine, and what is but for a factor */
  {make_curved, NULL, SUM "evidence separator\n" V TREE, "touched kink 0 (node 4 '', feature 0, sample 0): its argument is not affine"},
  {make_curved, NULL, SUM "evidence bound\n" V TREE, "touched kink 0 (node 4 '', feature 0, sample 0): its argument is not affine"},
  {make_curved, NULL, SUM "evidence bound\n" V "opposite 0 1\n", "its argument is not affine"},
  {make_bent_number, NULL, WHO("sum", "w") RELU("0") TWO "evidence separator\nv w 0 -1\n" TREE, "its argument is not affine"}, /* AD is right */
  {make_bent_later, NULL, WHO("sum", "w") RELU("0") TWO "evidence separator\nv w 0 -1\ntree\nbranch 0\nbranch 1\ndead 2\nu 0 2\nu 1 1\n"
   "leaf\nbranch 1\nleaf\ndead 2\nu 0 2\nu 1 1\n", "its argument is not affine"},
  {make_bent_two, NULL, SUM "evidence separator\n" V TREE, "its argument is not affine"},
  {make_factor, NULL, SUM "evidence separator\n" V TREE, NULL},
  {make_factor, NULL, SUM "evidence bound\n" V TREE, NULL},
  {make_factor, NULL, SUM "evidence bound\n" V "opposite 0 1\ntree\nleaf\n", NULL},
  {make_curved_first, NULL, CURVED "evidence separator\n" V "tree\nbranch 0\ndead 1\nu 0 b 1\n", "its argument is not affine"},
  {make_curved_last, NULL, CURVED "evidence separator\n" V "tree\nbranch 0\ndead 1\nu 0 b 1\n", "its argument is not affine"},
  {make_curved_first, NULL, CURVED "evidence bound\n" V "parallel 0 1\n", "touched kink 0 (node 4 '', feature 0, sample 0): its argument is not affine"},
  {make_curved_last, NULL, CURVED "evidence bound\n" V "parallel 0 1\n", "touched kink 0 (node 4 '', feature 0, sample 0): its argument is not affine"},
  {make_irrational_first, NULL, MANY "evidence separator\n" V "tree\nbranch 0\ndead 1\nu 0 b 1\n", "the combination of the derivatives is not zero"},
  {make_irrational_last, NULL, MANY "evidence separator\n" V "tree\nbranch 0\ndead 1\nu 0 b 1\n", "the combination of the derivatives is not zero"},
  {make_factor_two, NULL, CURVED "evidence bound\n" V "parallel 0 1\ntree\nleaf\n", "not separated"},
  {make_factor_three, NULL, CURVED "evidence bound\n" V "parallel 0 1\n", "its argument is not affine"},
  {make_factor_kinks, NULL, SUM "evidence bound\n" V "parallel 0 1\ntree\nleaf\n", "not separated"},
  {make_oblique, NULL, SUM "evidence bound\n" V "parallel 0 1\n", "touched kink 1 (node 2 '', feature 1, sample 0) is not parallel to 0"},
  {make_cancelled, NULL, SUM "evidence separator\n" V "tree\nbranch 0\ndead 1\nu 0 1\n", "its argument has derivative zero"},
  {make_cancelled, NULL, SUM "evidence bound\n" V "parallel 0 1\n", "its argument has derivative zero"},
  {make_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" ONE "evidence separator\n" V "tree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 1\n",
   "the combination of the derivatives is not zero"},
  {make_leaky, NULL, WHO("sum", "w") "proxy PRelu 0 1\n" ONE "evidence bound\n" V "tree\nbranch 0\nbranch 1\ndead 2\nu 0 1\nu 1 1\n",
   "touched kink 1 (node 3 '', feature 0, sample 0): its argument is not affine"},
  {make_window, many, MANY "evidence separator\n" V "tree\nbranch 0\n", "touched kink 0 (node 2 '', feature 0, sample 0) has more than 26 options"},
  {make_window, as_many, MANY "evidence separator\n" V "tree\nbranch 0\nleaf\n", "AD's output is not separated from this cell"},
  /* bounds: in any order, and kinks that take their sides with others */
  {make_twice, NULL, BOUND V TREE, NULL},
  {make_twice, NULL, BOUND V "tree\nbranch 1\nbranch 0\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 0\nleaf\n" DEAD, NULL},
  {make_twice, NULL, BOUND V "tree\nbranch 1\nbranch 1\n", "a branch on a touched kink after those above"},
  {make_twice, NULL, BOUND V "opposite 0 1\ntree\nleaf\n", NULL},
  {make_twice, NULL, BOUND "v w 0 -1\nopposite 0 1\ntree\nleaf\n", "not separated"},
  {make_twice, NULL, BOUND V "tree\nleaf\n", "AD's output is not separated from these cells"},
  {make_twice, NULL, BOUND V "opposite 0 1\ntree\nbranch 0\nleaf\nleaf\n", NULL},
  {make_twice, NULL, BOUND V "opposite 0 1\ntree\nbranch 1\nleaf\nleaf\n", "a branch on a touched kink after those above"},
  {make_twice, NULL, BOUND V "parallel 0 1\ntree\nleaf\n", "is not parallel to 0"},
  {make_twice, NULL, BOUND V "opposite 0 2\ntree\nleaf\n", "is not opposite to 0"},
  {make_slant, NULL, WHO("sum", "w") RELU("2") "touched 3\nevidence bound\nv w 0 -1\nopposite 0 1\ntree\nleaf\n", NULL},
  {make_slant, NULL, WHO("sum", "w") RELU("1") "touched 3\nevidence bound\nv w 0 -1\nopposite 0 1\ntree\nleaf\n", "not separated"},
  {make_by_turns, NULL, FOUR "opposite 0 2\nopposite 1 3\ntree\nleaf\n", NULL},
  {make_by_turns, NULL, FOUR "parallel 0 1\nparallel 2 3\ntree\nbranch 0\nbranch 2\ndead 2\nu 0 1\nu 2 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 2 1\n", NULL},
  {make_by_turns, NULL, FOUR "parallel 0 1\nopposite 0 2 3\ntree\nleaf\n", NULL},
  {make_by_turns, NULL, FOUR "parallel 0 1\nopposite 0 2 3\ntree\nbranch 0\nleaf\nleaf\n", NULL},
  {make_by_turns, NULL, FOUR "opposite 1 3\nopposite 0 2\ntree\nleaf\n", "touched kinks in increasing order are expected"},
  {make_halves, NULL, FOUR "parallel 1 2\nopposite 0 1\n", "touched kinks in increasing order, each once"},
  {make_halves, NULL, FOUR "parallel 1 2\nopposite 0 2\n", "touched kinks in increasing order, each once"},
  {make_halves, NULL, FOUR "parallel 1 2\nparallel 0 3\n", "touched kinks in increasing order are expected"},
  {make_halves, NULL, FOUR "parallel 0 3\nparallel 1 2\nopposite 0 1\n", "touched kinks in increasing order, each once"},
  {make_curved_second, NULL, SUM "evidence bound\n" V "opposite 0 1\n", "touched kink 1 (node 4 '', feature 1, sample 0) is of another kind than 0"},
  {make_second_alone, NULL, SUM "evidence bound\nv w 1 1\nparallel 0 1\ntree\nleaf\n", "not separated"},
  {make_apart_ties, NULL, CURVED "evidence bound\n" V "parallel 0 1\n", "is not parallel to 0"},
  {make_exp_two, NULL, CURVED "evidence bound\n" V "parallel 0 1\ntree\nleaf\n", "separated from these cells"},
  {make_exp_ranks, NULL, CURVED "evidence bound\n" V "parallel 0 1\n", "a gradient is not rational"},
  {make_slant, NULL, WHO("sum", "w") RELU("5/4") "touched 3\nevidence bound\nv w 0 -1\nopposite 0 1\ntree\nleaf\n", "not separated"},
  {make_halves, NULL, FOUR "opposite 0 2 1\n", "touched kinks in increasing order, each once"},
  {make_halves, NULL, FOUR "opposite 0 1 2\ntree\nleaf\n", NULL},
  {make_opposite, turned, SUM "evidence bound\n" V "opposite 0 1\ntree\nleaf\n", NULL},
  {make_opposite, NULL, SUM "evidence bound\n" V "opposite 0 1\n", "its argument is not affine"},
  {make_opposite, turned, SUM "evidence bound\n" V "parallel 0 1\n", "its argument is not affine"},
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1") "tie ReduceMax first\n" TWO "evidence bound\n" V "parallel 0 1\n",
   "touched kink 1 (node 3 '', feature 0, sample 0) is of another kind than 0"},
  {make_exp_tie, NULL, WHO("sum", "w") RELU("1") "tie ReduceMax first\n" TWO "evidence bound\n" V "opposite 0 1\n", "windows have no opposite"},
  {make_tie_first, NULL, WHO("sum", "w") RELU("1") "tie ReduceMax first\n" TWO "evidence bound\n" V "parallel 0 1\n",
   "touched kink 1 (node 3 '', feature 0, sample 0) is of another kind than 0"},
  {make_tie_first, NULL, WHO("sum", "w") RELU("1") "tie ReduceMax first\n" TWO "evidence bound\n" V "opposite 0 1\n", "windows have no opposite"},
  {make_twice, NULL, BOUND V "opposite 0 0\n", "touched kinks in increasing order, each once"},
  {make_twice, NULL, BOUND V "opposite 1 0\n", "touched kinks in increasing order, each once"},
  {make_twice, NULL, BOUND V "opposite 0 3\n", "touched kinks in increasing order, each once"},
  {make_twice, NULL, BOUND V "opposite 0 1 1\n", "touched kinks in increasing order, each once"},
  {make_twice, NULL, BOUND V "opposite 0 99999999999999\n", "touched kinks in increasing order, each once"},
  {make_twice, NULL, BOUND V "opposite 99999999999999 1\n", "touched kinks in increasing order are expected"},
  {make_with_size, NULL, WHO("sum", "w") RELU("1") "tie ReduceMax first\n" TWO "evidence bound\n" V
   "tree\nbranch 0\nbranch 1\ndead 2\nu 0 2\nu 1 b 1\nleaf\nbranch 1\nleaf\ndead 2\nu 0 2\nu 1 a 1\n", "not separated"}, /* AD is right, to the right */
  {make_with_size, NULL, WHO("sum", "w") RELU("4") "tie ReduceMax first\n" TWO "evidence bound\n" V
   "tree\nbranch 0\nbranch 1\ndead 2\nu 0 2\nu 1 b 1\nleaf\nbranch 1\nleaf\ndead 2\nu 0 2\nu 1 a 1\n", NULL},
  {make_twice, NULL, BOUND V "opposite 3 4\n", "touched kinks in increasing order are expected"},
  {make_twice, NULL, BOUND V "opposite 0 1\nopposite 0 1\n", "touched kinks in increasing order are expected"},
  {make_twice, NULL, BOUND V "opposite 0 1\nopposite 1 2\n", "touched kinks in increasing order are expected"},
  {make_twice, NULL, BOUND V "opposite 0 1\nparallel 0 1\n", "'tree' is expected"},
  /* windows */
  {make_ties, NULL, TIED_FORK DEAD_TIES TIED_REST, NULL},
  {make_ties, NULL, TIED_FORK "dead 2\nu 0 a 1\nu 1 b 1\n", "'a' is not another option than the one taken"},
  {make_ties, NULL, TIED_FORK "dead 2\nu 0 bb 1\nu 1 b 1\n", "'bb' is not another option than the one taken"},
  {make_ties, NULL, TIED_FORK "dead 2\nu 0 d 1\nu 1 b 1\n", "has no side 'd'"},
  {make_ties, NULL, TIED_FORK "dead 2\nu 0 1\nu 1 b 1\n", "has no side '1'"},
  {make_ties, NULL, TIED_FORK "dead 2\nu 0 c 1\nu 1 b 1\n", "the combination of the derivatives is not zero"},
  {make_ties, NULL, TIED_FORK "dead 3\nu 0 c 1\nu 0 b 1\nu 1 b 1\n", "touched kinks in increasing order"},
  {make_ties, NULL, TIED_FORK "leaf\n", "not separated"},
  {make_ties, NULL, TIED_FORK DEAD_TIES "leaf\nbranch 1\nleaf\nleaf\n", "'leaf' is expected"},
  {make_ties, NULL, TIED_FORK DEAD_TIES TIED_REST "leaf\n", "'end' is expected"},
  {make_ties, NULL, TIES "evidence separator\n" V "tree\nbranch 0\nleaf\n", "touched kink 1 (node 3 '', feature 0, sample 0) has not been branched on, and moves"},
  {make_ties, NULL, TIES "evidence bound\n" V "tree\nbranch 1\nbranch 0\n" DEAD_TIES "leaf\nleaf\nleaf\n", NULL},
  {make_ties, NULL, TIES "evidence bound\n" V "tree\nbranch 1\nbranch 0\nleaf\n", "not separated"},
  {make_ties, NULL, TIES "evidence bound\n" V "tree\nbranch 1\nleaf\n", "not separated"},
  {make_ties, NULL, TIES "evidence bound\n" V "opposite 0 1\n", "windows have no opposite"},
  {make_ties, NULL, TIES "evidence bound\n" V "parallel 0 1\n", "touched kink 1 (node 3 '', feature 0, sample 0) is of another kind than 0"},
};

#define ZONE(n, is) "loss sum\nwrt w\ntouched " n "\nzone " is "\n"

#define ENTROPY_ZONE(n, is) "loss ce\nwrt w\ntouched " n "\nzone " is "\n"

/* Of zones. */
static const lined zones[] = {
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry w 0\n", NULL},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry w 1\n", "the derivative by that entry does not change"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 1 +\nentry w 1\n", NULL},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nswitch 1 +\nentry w 1\n", NULL},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 1 +\nswitch 0 +\nentry w 1\n", "touched kinks in increasing order"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nswitch 0 +\nentry w 1\n", "touched kinks in increasing order"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 2 +\nentry w 1\n", "touched kinks in increasing order"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 -\nentry w 0\n", "another side than the first is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 ++\nentry w 0\n", "another side than the first is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 a\nentry w 0\n", "has no side 'a'"},
  {make_two, NULL, ZONE("2", "bifurcation") "entry w 0\n", "'switch' is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\n", "'entry' is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry w 2\n", "an entry of a parameter in wrt is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry c 0\n", "an entry of a parameter in wrt is expected"},
  {make_two, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry w 0\nentry w 0\n", "'end' is expected"},
  {make_two, NULL, ZONE("3", "bifurcation") "switch 0 +\nentry w 0\n", "the number of touched kinks is 2"},
  {make_two, NULL, ZONE("2", "some") "switch 0 +\nentry w 0\n", "'compensation' or 'bifurcation' is expected"},
  {make_two, NULL, ZONE("2", "compensation"), "the loss has a derivative by the output of touched kink 0"},
  {make_nothing, NULL, ZONE("2", "compensation"), NULL},
  {make_nothing, NULL, ZONE("2", "bifurcation") "switch 0 +\nentry w 0\n", "the derivative by that entry does not change"},
  {make_window, NULL, ZONE("1", "bifurcation") "switch 0 b\nentry w 0\n", NULL},
  {make_window, NULL, ZONE("1", "bifurcation") "switch 0 c\nentry w 0\n", "the derivative by that entry does not change"},
  {make_window, NULL, ZONE("1", "bifurcation") "switch 0 c\nentry w 1\n", NULL},
  {make_shares_alike, label_0, ENTROPY_ZONE("1", "compensation"), NULL}, /* both outputs move by the same */
  {make_shares_alike, label_1, ENTROPY_ZONE("1", "compensation"), NULL},
  {make_shares_twice, label_0, ENTROPY_ZONE("1", "compensation"), "the loss has a derivative by the output of touched kink 0"},
  {make_shares_apart, label_0, ENTROPY_ZONE("2", "compensation"), "the loss has a derivative by the output of touched kink 0"},
  {make_shares_apart, label_0, ENTROPY_ZONE("2", "compensation") "cut 0\n", "the loss has a derivative by the output of touched kink 1"},
  {make_shares_apart, label_0, ENTROPY_ZONE("2", "bifurcation") "switch 1 +\nentry w 1\n", NULL},
  {make_loose_shares, label_0, ENTROPY_ZONE("1", "compensation"), NULL},
  {make_cancelled_alone, NULL, ZONE("2", "compensation") "cut 0\n", NULL},
  {make_constant_alone, NULL, ZONE("1", "compensation"), NULL},
  {make_copies, NULL, ZONE("1", "compensation"), "the loss has a derivative by the output of touched kink 0"},
  {make_copies, NULL, ZONE("1", "compensation") "cut 0\n", NULL},
  {make_loose, NULL, ZONE("1", "compensation") "cut 0\n",
   "ties of entries that are one function, behind touched kinks, are not known to have one derivative"},
  {make_e_kink, NULL, ZONE("1", "compensation") "cut 0\n", "touched kink 0 (node 4 '', feature 0, sample 0) has a derivative by a parameter"},
  {make_e_kink, NULL, ZONE("1", "bifurcation") "switch 0 +\nentry w 0\n", NULL},
  {make_chain, NULL, ZONE("2", "compensation") "cut 1\n", "touched kink 1 (node 3 '', feature 0, sample 0) has a derivative by the output of touched kink 0"},
  {make_chain, NULL, ZONE("2", "compensation") "cut 0\ncut 1\n", "touched kink 0 (node 2 '', feature 0, sample 0) has a derivative by a parameter"},
  {make_constant_chain, NULL, ZONE("2", "compensation") "cut 1\n", NULL},
  {make_constant_chain, NULL, ZONE("2", "compensation") "cut 0\ncut 1\n", "touched kink 0 (node 2 '', feature 0, sample 0) is constant, and need not be cut off"},
  {make_relu_first, NULL, ZONE("2", "bifurcation") "switch 1 b\nentry w 0\n", "the derivative by that entry does not change"},
  {make_relu_first, NULL, ZONE("2", "bifurcation") "switch 1 b\nentry w 1\n", NULL},
  {make_half_loose, NULL, ZONE("1", "compensation") "cut 0\n", NULL},
  {make_one_beside, NULL, ZONE("1", "compensation"), NULL},
  {make_loose_shares, label_0, ENTROPY_ZONE("1", "compensation") "cut 0\n", NULL},
  {make_cancelled, NULL, ZONE("2", "compensation") "cut 0\ncut 1\n", "touched kink 1 (node 2 '', feature 1, sample 0) has a derivative by a parameter"},
  {make_apart_chain, NULL, ZONE("3", "compensation") "cut 2\n", "the loss has a derivative by the output of touched kink 1"},
  {make_window, NULL, ZONE("1", "compensation") "cut 0\n", "touched kink 0 (node 2 '', feature 0, sample 0) has a derivative by a parameter"},
  {make_two_twice, NULL, ZONE("1", "bifurcation") "switch 0 b\nentry w 1\n", NULL},
  {make_window, NULL, ZONE("1", "bifurcation") "switch 0 a\nentry w 0\n", "another side than the first is expected"},
};

/* ---- Judgement */

typedef struct {
  const lined *of;
  const char *verdict;
  size_t kinds;
} question;

static void
answer(void *of)
{
  const question *q = of;
  plain_tape t;

  q->of->make(&t);
  point *p = tape_point(&t);
  if (q->of->change != NULL)
    q->of->change(p);
  judge_lines(q->of->lines);
  if (*q->verdict == 'z')
    ck_assert(check_zone(p) == (strstr(q->of->lines, "zone compensation") != NULL));
  else
    check_output(p, q->verdict, evidence_kinds, q->kinds);
}

static void
expect_said(const lined *of, const char *verdict)
{
  question q = {of, verdict, N_EVIDENCE};
  const char *why;
  const outcome how = judge(answer, &q, &why);

  if (of->why == NULL)
    ck_assert_msg(how == VERIFIED, "fails: %s\n%s", why, of->lines);
  else
    ck_assert_msg((how == FAILED || how == REFUSED) && strstr(why, of->why) != NULL, "%s: %s\n%s", of->why, how == VERIFIED ? "it holds" : why, of->lines);
}

START_TEST(lines_about_a_limit_of_gradients)
{
  expect_said(&cases[_i], "in-bouligand");
}
END_TEST

START_TEST(lines_about_a_combination)
{
  expect_said(&inside[_i], "in-clarke");
}
END_TEST

START_TEST(lines_about_what_is_outside)
{
  expect_said(&outside[_i], "not-in-clarke");
}
END_TEST

START_TEST(lines_about_zones)
{
  expect_said(&zones[_i], "zone");
}
END_TEST

/* A kind that is not handed down is none. */
START_TEST(kinds_are_handed_down)
{
  const lined of = {make_twice, NULL, BOUND V TREE, NULL};
  question q = {&of, "not-in-clarke", N_EVIDENCE - 1};
  const char *why;

  ck_assert_int_eq(judge(answer, &q, &why), FAILED);
  ck_assert_str_eq(why, "'bound' does not prove not-in-clarke");
}
END_TEST

/* ---- What is said */

#define SAYS_PARAMETERS "Parameters: 2 numbers, in\n  w (2)\n"
#define SAYS_RELU(how) "Proxies (profile hand):\n  Relu, kink 0: " how "\nTouched kinks: 2\nEvidence: ad\n"
#define SAYS_SUM "Loss: sum, of all entries of the output in all samples\n"
#define SAYS_TIE(rule, kind) SAYS_SUM SAYS_PARAMETERS "Proxies (profile hand):\n  ReduceMax, tied entries of a window: " rule \
  "\nTouched kinks: 1\nOf these, windows with ties: 1\nEvidence: " kind "\n"

static const struct {
  lined of;
  const char *verdict, *said;
} words[] = {
  {{make_two, own_mse, WHO("mse", "c w") ONE UP, NULL}, "in-bouligand",
   "Loss: mse, the mean over all entries of the output in all samples of (output - y)^2\n  as the model's own last nodes have it\n"
   "Parameters: 3 numbers, in\n  w (2)\n  c (1)\n" SAYS_RELU("1")},
  {{make_two, undeclared, WHO("sum", "*") RELU("right") TWO UP, NULL}, "in-bouligand",
   SAYS_SUM "Parameters: 3 numbers, in\n  w (2)\n  c (1)\n" SAYS_RELU("right")},
  {{make_pair, label_1, WHO("ce", "w") ONE UP, NULL}, "in-bouligand",
   "Loss: ce, the mean over all samples whose y is not -100 of log(sum over classes c of exp(output[c])) - output[y]\n"
   SAYS_PARAMETERS SAYS_RELU("1")},
  {{make_pair, label_0, WHO("ce", "w") ONE UP, NULL}, "in-bouligand",
   "Loss: ce, the mean over all samples of log(sum over classes c of exp(output[c])) - output[y]\n" SAYS_PARAMETERS SAYS_RELU("1")},
  {{make_window, NULL, TIE("first", AD MOVE("w at 0 1\nmove w at 1 1/2")), NULL}, "in-bouligand", SAYS_TIE("the first's derivative", "ad")},
  {{make_window, NULL, TIE("last", AD MOVE("w at 1 -1")), NULL}, "in-bouligand", SAYS_TIE("the last's derivative", "ad")},
  {{make_window, NULL, TIE("hybrid 0", AD MOVE("w at 0 1\nmove w at 1 1/2")), NULL}, "in-bouligand",
   SAYS_TIE("1 - B of the first's derivative and B of their mean, B = 0", "ad")},
  {{make_window, NULL, TIE("mean", HULL("3") CELL("1/3", "a") MOVE("w at 0 1\nmove w at 1 1/2") CELL("1/3", "b") MOVE("w at 1 1")
    CELL("1/3", "c") MOVE("w at 1 -1")), NULL}, "in-clarke", SAYS_TIE("the mean of their derivatives", "hull")},
};

/* All that a proof says of what it is about. */
START_TEST(what_is_proved_is_said)
{
  FILE *before = account;
  char *said;
  size_t size;

  account = open_memstream(&said, &size);
  expect_said(&words[_i].of, words[_i].verdict);
  fclose(account);
  account = before;
  ck_assert_str_eq(said, words[_i].said);
  free(said);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("lines");

  tcase_add_loop_test(tests, lines_about_a_limit_of_gradients, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_loop_test(tests, lines_about_a_combination, 0, (int)(sizeof inside / sizeof *inside));
  tcase_add_loop_test(tests, lines_about_what_is_outside, 0, (int)(sizeof outside / sizeof *outside));
  tcase_add_loop_test(tests, lines_about_zones, 0, (int)(sizeof zones / sizeof *zones));
  tcase_add_test(tests, kinds_are_handed_down);
  tcase_add_loop_test(tests, what_is_proved_is_said, 0, (int)(sizeof words / sizeof *words));
  return run_tests();
}
