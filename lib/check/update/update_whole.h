/* Rules of a tensor as a whole: Adafactor, by means over rows and columns, and Muon, by products of matrices. */
#ifndef CLARKE_KERNEL_UPDATE_WHOLE_H
#define CLARKE_KERNEL_UPDATE_WHOLE_H

#include "check/update/update_rule.h"

/* Matrices, `batches` of them one after another; rows 0: a vector. A slot that it has not is NULL. */
struct update_tensor {
  size_t n, batches, rows, cols;
  interval *slot[N_SLOTS];
};

void update_whole_begin(update_tensor *t, const update *u); /* its axes are set; zeros */
void update_whole_end(update_tensor *t);                    /* frees them */
/* Has a tensor of these axes that slot, by the rule? And how many numbers? */
bool update_whole_has(const update_tensor *t, const update *u, int slot);
size_t update_whole_count(const update_tensor *t, int slot);
/* The axes are such as the rule steps, and no more work than a checker does. */
void update_whole_check(const update_tensor *t, const update *u);
/* The step behind u->k others. */
void update_whole_step(const update *u, update_tensor *t, const interval *gradient);

#endif
