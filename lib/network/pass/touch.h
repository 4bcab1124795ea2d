/* Kinks that are touched, and the sides that one may take. */
#ifndef CLARKE_NETWORK_PASS_TOUCH_H
#define CLARKE_NETWORK_PASS_TOUCH_H

#include "op/step.h"

#define CLARKE_LEFT ((clarke_branch)-1)
#define CLARKE_RIGHT ((clarke_branch)1)
#define CLARKE_PROXY ((clarke_branch)0)
/* The side of a touched window: the number of the option that is the largest. */
#define CLARKE_OPTION(o) ((clarke_branch)((o) + 1))
#define CLARKE_OPTION_OF(side) ((size_t)((side) - 1))

/* A touched kink or window: several largest entries that are not identical. Numbered in the order of
 * (step, feature, sample), as proofs number them. */
typedef struct {
  size_t step, feature, sample;
  size_t kink;      /* of the step's pieces */
  size_t column;    /* the sample's column in replay->near */
  size_t n_options; /* of a window, at least 2; of a kink 0 */
  size_t parted;    /* of a window: largest entries that are not identical with the first of them; of a kink 0 */
  size_t *option;   /* features of the step's operand, the first of each identity */
  /* What a side asks for: of a kink its argument on that side, of a window the side's option over
   * each other one. Conditions are numbered through all touches, a window's by its options. */
  size_t first_condition;
} clarke_touch;

/* How many conditions the touch has. */
static inline size_t
clarke_touch_conditions(const clarke_touch *t)
{
  return t->n_options == 0 ? 1 : t->n_options;
}

/* The sides it may take: a kink's left and right, a window's options. */
static inline size_t
clarke_touch_sides(const clarke_touch *t)
{
  return t->n_options == 0 ? 2 : t->n_options;
}

/* The sides that a touch may take are numbered: left 0 and right 1, a window's as its options. */
static inline clarke_branch
clarke_side_numbered(const clarke_touch *t, size_t o)
{
  return t->n_options > 0 ? CLARKE_OPTION(o) : o == 1 ? CLARKE_RIGHT : CLARKE_LEFT;
}

/* The number that clarke_side_numbered makes that side of. */
static inline size_t
clarke_side_number(const clarke_touch *t, clarke_branch side)
{
  return t->n_options > 0 ? CLARKE_OPTION_OF(side) : side == CLARKE_RIGHT;
}

#endif
