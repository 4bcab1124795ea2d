/* Losses: the sum of all outputs; the mean squared error over all entries; cross-entropy, the mean
 * over the batch of logsumexp(output) - output[label]. As PyTorch's defaults. Samples of one label may be
 * ignored: cross-entropy is then the mean over the others. */
#ifndef CLARKE_NETWORK_DERIVE_LOSS_H
#define CLARKE_NETWORK_DERIVE_LOSS_H

#include "exact/ball.h"
#include "network/replay/replay.h"

typedef enum { CLARKE_LOSS_SUM, CLARKE_LOSS_MSE, CLARKE_LOSS_CE } clarke_loss_kind;

typedef struct {
  clarke_loss_kind kind;
  const clarke_tensor *y; /* NULL for sum */
  size_t samples;         /* of the whole batch */
  bool ignores;           /* of cross-entropy: are samples whose label is this one no part of it? */
  int64_t ignored;
} clarke_loss;

/* For cross-entropy: the label of a sample, CLARKE_NONE where it is ignored; how many samples are not. */
size_t clarke_loss_label(const clarke_loss *loss, size_t sample);
size_t clarke_loss_counted(const clarke_loss *loss);

const char *clarke_loss_name(clarke_loss_kind kind); /* "sum", "mse" or "ce" */
/* The loss of that name; an unknown one is an error that lists those that are known. */
clarke_status clarke_loss_parse(clarke_loss_kind *kind, const char *name, clarke_error *err);

/* Do the labels or targets fit the network's output, and is a label left that is not ignored? */
clarke_status clarke_loss_check(const clarke_loss *loss, const clarke_graph *g,
                                clarke_error *err);

/* Is the gradient rational when the outputs are? */
bool clarke_loss_is_rational(const clarke_loss *loss);

/* The gradient of the loss in the outputs of a pass whose column j is sample[j] (NULL: j). */
clarke_status clarke_loss_seed(clarke_matrix *seed, const clarke_loss *loss,
                               const clarke_forward *f, const size_t *sample, clarke_error *err);

/* By entry of the outputs, which are exact, which of its column's distinct values it has, counted from 0 as they come; returns how many
 * at most a column has. */
size_t clarke_loss_groups(size_t *group, const clarke_forward *f);
/* For cross-entropy: in each column 1 for each output of the group, and less their number at the label. */
clarke_status clarke_loss_group_seed(clarke_matrix *seed, const clarke_loss *loss, const clarke_forward *f, const size_t *sample,
                                     const size_t *group, size_t which, clarke_error *err);

/* The loss over a pass of all samples. */
clarke_status clarke_loss_value(arb_t value, const clarke_loss *loss, const clarke_forward *f,
                                clarke_error *err);

/* When pass and loss are rational: exactly. */
clarke_status clarke_loss_exact(mpq_t value, const clarke_loss *loss, const clarke_forward *f,
                                clarke_error *err);

#endif
