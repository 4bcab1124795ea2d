/* Entries of AD's gradient that are 0 because each path from them to the loss has a factor 0.
 *
 * An entry is a sum over paths of products: slopes, weights, activations, and at its end what it is multiplied by. Which factors
 * are 0 is known of a replay: flat pieces by where arguments lie, kinks by what AD takes, the rest by numbers that are 0. So no
 * number is computed here. That all products are 0 proves that the sum is; that one is not proves nothing. */
#ifndef CLARKE_NETWORK_DERIVE_ZEROS_H
#define CLARKE_NETWORK_DERIVE_ZEROS_H

#include "network/replay/replay.h"
#include "op/profile.h"

/* Why: of each path the first factor 0, coming from the loss. */
typedef enum {
  CLARKE_ZERO_FLAT = 1,    /* a slope 0, off every kink: a unit that is dead on that sample */
  CLARKE_ZERO_KINK = 2,    /* a slope 0 that AD takes at a kink */
  CLARKE_ZERO_WEIGHT = 4,  /* a weight, or another constant, that is 0 */
  CLARKE_ZERO_FACTOR = 8,  /* an activation that is 0, and may change with the weights */
  CLARKE_ZERO_LOSER = 16,  /* an entry of a window that another one is above */
  CLARKE_ZERO_UNUSED = 32, /* the path does not go on: nothing that the loss is made of takes the entry */
  CLARKE_ZERO_DATA = 64,   /* an entry of the input that is 0, or of what is made of inputs and constants alone */
  CLARKE_ZERO_NOT = 128,   /* some path has no factor 0 that is known of: the entry may be other than 0 */
} clarke_zero_cause;
#define CLARKE_ZERO_CAUSES 7

/* In the field's words: "dead units", of the cause 1 << i. */
const char *clarke_zero_cause_name(size_t i);

typedef struct {
  size_t n;        /* parameters */
  uint8_t **cause; /* n: causes together, as many as the parameter has entries, never 0; NULL: not in wrt */
  bool known;      /* false: an argument cannot be told from its kink, or there are too many entries; then all are NULL */
} clarke_zeros;

void clarke_zeros_init(clarke_zeros *z);
void clarke_zeros_clear(clarke_zeros *z);

/* Finds the zeros of the gradient over a replay's own batch. loose: kinks and windows that are touched may take any of their
 * sides, so that no slope of theirs is 0. What then is 0 is 0 in each limit of gradients at points that approach these
 * weights: in these a factor's limit is the factor here. */
clarke_status clarke_zeros_find(clarke_zeros *z, const clarke_replay *r, const clarke_profile *profile, bool loose, clarke_error *err);

/* How many of a parameter's entries are 0, and of these how many for the cause 1 << i among others. */
typedef struct {
  size_t zero, by[CLARKE_ZERO_CAUSES];
} clarke_zero_counts;
clarke_zero_counts clarke_zeros_count(const clarke_zeros *z, const clarke_graph *g, size_t parameter);

#endif
