/* Small tapes, drawn: what they are in plain numbers, and as the kernel's steps. All numbers are whole, or have few binary digits, so
 * that doubles hold them exactly. */
#ifndef CLARKE_TESTS_CHECK_FORGE_TAPE_DRAW_H
#define CLARKE_TESTS_CHECK_FORGE_TAPE_DRAW_H

#include "check/kernel/point.h"

enum { TAPE_STEPS = 9, TAPE_FEATURES = 4, TAPE_WIDTH = 4, TAPE_WEIGHTS = 3, TAPE_BATCH = 2, TAPE_OUTPUTS = 2, KINKED = 5, TIED = 2 };

typedef enum { PLAIN_INPUT, PLAIN_SUM, PLAIN_PIECES, PLAIN_LARGEST, PLAIN_PRODUCT, PLAIN_RECIPROCAL, PLAIN_EXP } plain_kind;

/* coef times weight w (of all: first those in wrt, then those that stand still; -1: 1) times feature `from` of a step (-1: 1). */
typedef struct {
  double coef;
  int w, step, from;
} plain_term;

/* Feature f of a step has `width` terms: it is their sum, the largest of what they read, or the product of what two read. Of pieces it
 * is piece p, a polynomial of what the one term reads, between kinks p - 1 and p; piece 0's slope is the term's weight, if it has one. */
typedef struct {
  plain_kind kind;
  size_t n, width, n_kinks, op; /* op: of KINKED operators, or of TIED ones */
  plain_term term[TAPE_FEATURES][TAPE_WIDTH];
  double at[2], piece[3][3];
} plain_step;

typedef enum { TAKES_NUMBER, TAKES_LEFT, TAKES_RIGHT } taken;
typedef enum { TIE_FIRST, TIE_LAST, TIE_MEAN, TIE_HYBRID } tie;

/* A tape, and what AD does at its kinks: a slope, by operator and kink; a tie's rule, and of a hybrid one what is shared. */
typedef struct {
  size_t n_steps, batch, n_moving, n_weights; /* n_moving: weights in wrt */
  plain_step step[TAPE_STEPS];
  double x[TAPE_BATCH * TAPE_FEATURES], w[TAPE_WEIGHTS + 1], y[TAPE_BATCH * TAPE_OUTPUTS];
  bool squares; /* the loss is the mean of squares; else the sum */
  taken takes[KINKED][2];
  double slope[KINKED][2], shared[TIED];
  tie ties[TIED];
} plain_tape;

extern const char *const kinked_names[KINKED], *const tied_names[TIED];
extern const size_t kinked_count[KINKED]; /* how many kinks an operator has */

void tape_draw(plain_tape *t, uint64_t *state);
/* The kernel's, of memory that allocate() gives; a point that was not evaluated. */
point *tape_point(const plain_tape *t);

#endif
