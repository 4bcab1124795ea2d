/* The loss, and gradients. */
#ifndef CLARKE_KERNEL_GRADIENT_H
#define CLARKE_KERNEL_GRADIENT_H

#include "check/kernel/evaluate.h"

/* Where output i % n_outputs in sample i / n_outputs is, among the entries of the output's step. */
size_t output_entry(const point *p, size_t i);
interval *loss_slopes(const point *p);             /* [sample * n_outputs + output]: the loss's derivative by it */
void tangent_loss(interval *sum, const motion *d); /* the derivative of the loss along that motion */
/* Gradients, into the network's, under a cell (or NULL), settled, of those slopes: then nothing comes from what is constant.
 * This is the loss's gradient; with of_touched, without that of samples in which no kink is touched. One
 * that is not rational is a failure. */
void loss_gradient(const point *p, const rational *slope, const cell *c, bool of_touched);
/* The gradient of the argument of touched kink k, or of an option of touched window k less another; false: it is not rational.
 * up_to_a_root: divided by a positive number, where a root is a factor of all of it. */
bool kink_gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over,
                   bool up_to_a_root);
/* The same; one that is not rational is a failure. */
void kink_row(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over,
              bool up_to_a_root);
/* The same divided by the factor, a positive number, which is 1 but for rows that are not rational otherwise. */
void kink_row_and_factor(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over,
                         interval *factor);
/* Where a derivative comes from: by the outputs of which touched kinks it may not be 0, and whether by that of a window among
 * `loose` ([step][entry]; of a step NULL: none). */
typedef struct origins {
  bool *met, **loose, loose_met;
} origins;
/* These add what they find. Of the loss, under the slopes and cell; c NULL: under any slopes. */
void loss_origins(const point *p, const cell *c, origins *of);
/* The same from the sum of a sample's outputs times these numbers; the sample depends on no other. */
void seeded_origins(const point *p, const cell *c, size_t sample, const rational *seed, origins *of);
/* Where the gradient comes from: that of the argument of touched kink k, or of its first option less another. Is it zero? */
bool kink_origins(const point *p, const cell *c, size_t k, size_t over, origins *of);
/* For each touched kink, may the gradient depend on its slope, whatever the others' are? Where each way from it to the loss is cut
 * by a factor that is 0 at the weights, or no parameter is before it, the gradient is the same. */
bool *touched_with_effect(const point *p);

#endif
