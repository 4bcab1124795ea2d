/* What is true of a drawn tape, by going through all that can happen near its weights; in doubles, which hold all numbers of it exactly
 * but for those behind exp. It shares nothing with the kernel. */
#ifndef CLARKE_TESTS_CHECK_FORGE_TAPE_TRUTH_H
#define CLARKE_TESTS_CHECK_FORGE_TAPE_TRUTH_H

#include "forge_tape_draw.h"

enum { MOST_SPOTS = 8, MOST_CELLS = 64, MOST_ROWS = 24, MOST_ENTRIES = TAPE_FEATURES * TAPE_BATCH };

typedef enum { NO, YES, UNKNOWN } answer;

/* A kink that an argument is at, or a tie: entry of a step (feature * batch + sample). Sides: 0 and 1, left and right; or which term of
 * the window, and tied says which there are. */
typedef struct {
  size_t step, entry, kink;
  bool window, tied[TAPE_WIDTH];
} spot;

/* A choice of sides, what it asks of the weights' move (rows: each is to be positive), and the loss's gradient under it. */
typedef struct {
  int side[MOST_SPOTS];
  size_t n_rows;
  double row[MOST_ROWS][TAPE_WEIGHTS];
  double gradient[TAPE_WEIGHTS];
  bool certain; /* points near the weights have these sides, or those of a cell with the same gradients; else it may be so */
} sided;

typedef struct {
  const plain_tape *t;
  double value[TAPE_STEPS][MOST_ENTRIES];
  int degree[TAPE_STEPS][MOST_ENTRIES]; /* in the weights that move, on each piece: 2 for whatever is not affine */
  size_t n_spots, n_cells;
  spot spot[MOST_SPOTS];
  sided cell[MOST_CELLS];
  double ad[TAPE_WEIGHTS]; /* what AD computes */
  bool off[TAPE_STEPS][MOST_ENTRIES]; /* is the value, or a derivative, rounded? */
  bool curved;                        /* some argument at a kink is not affine on its pieces */
  bool rounded;                       /* some gradient of a cell, or AD's, is rounded */
} truth;

/* False: there is a 1 / 0, a kink at a rounded number, or too much to go through. */
bool truth_find(truth *of, const plain_tape *t, uint64_t *state);
/* Is AD's output the gradient of a cell, or in the convex hull of all cells' gradients? */
answer truth_in_bouligand(const truth *of);
answer truth_in_clarke(const truth *of);

/* What a choice of sides makes of a spot, under the slopes of all spots before it. side -1: what AD does. Of a spot and a side, the rows
 * that must be positive, n of them; rows that are 0 are left out. */
size_t truth_rows(const truth *of, const int *side, size_t k, double row[][TAPE_WEIGHTS]);
/* Of one side beside another, which is a tied term (of a kink: whatever): false where it is 0. */
bool truth_row(const truth *of, const int *side, size_t k, int other, double *row);
/* Is spot k's argument, or what is tied there, constant whatever the sides? Does it read what spot j makes? */
bool truth_constant(const truth *of, size_t k);
bool truth_behind(const truth *of, size_t k, size_t j);
/* The slope of a kink on a side, left or right; -1: AD's. */
double truth_slope(const truth *of, size_t k, int side);
/* What a side makes of term i: a kink's slope, or of a window 1 for the largest; side -1: what AD does. */
double truth_share(const truth *of, size_t k, int side, size_t i);
void truth_gradient(const truth *of, const int *side, double *gradient); /* the loss's */
/* Can n rows be positive at once? */
answer truth_feasible(double row[][TAPE_WEIGHTS], size_t n, size_t dimension);
/* The derivatives along a move of spot k's argument (of a window: of all tied terms): is one not 0? */
bool truth_moves(const truth *of, const int *side, size_t k, const double *move);

#endif
