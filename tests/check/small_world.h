/* Small networks drawn as steps, at the edges of what machine words hold; and their values, naively. */
#ifndef CLARKE_TESTS_CHECK_SMALL_WORLD_H
#define CLARKE_TESTS_CHECK_SMALL_WORLD_H

#include "check/kernel/point.h"

enum { MOST_STEPS = 17, MOST_DRAWN = 9, MOST_ENTRIES = 24, MOST_WEIGHTS = 6 };

typedef struct {
  network net;
  point p;
  tensor x, w[3], *all[3]; /* a parameter in wrt; a parameter that is not; no parameter */
  rational y[MOST_STEPS][MOST_ENTRIES];
  bool rounded[MOST_STEPS]; /* are the values of a step within 2^-1000 of y, relatively? Else they are y */
  uint64_t state;
} world;

void world_draw(world *w, uint64_t seed);
/* By hand: one sample of n numbers; and then a step whose features have rows of their own, with factors 1, of sources of the step
 * before. The tensors of w are 0. */
void world_begin(world *w, size_t n, const rational *x);
step *world_add(world *w, kind k, size_t n, size_t width);
void world_values(world *w); /* fills y anew, of the weights as they are */
void world_values_from(world *w, size_t s); /* those of step s and behind */
void world_move(world *w);   /* moves what is in wrt, by less than 2^-300 of it */
/* Do near values hold those of y, with so many bits? Few: factors of wide rows are rounded to machine words. All steps are asked. */
bool world_near(world *w, unsigned long bits, bool few);
/* Is a at most b? Where they are rounded and near each other, both are said to hold. */
bool world_below(const world *w, size_t s, const rational *a, const rational *b);

#endif
