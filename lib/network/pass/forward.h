/* The exact forward pass over some samples of a minibatch.
 *
 * Every needed activation becomes a matrix, features x samples, exact while everything before it
 * is rational, an enclosure after transcendental functions. At every step with kinks each entry's
 * place is decided: */
#ifndef CLARKE_NETWORK_PASS_FORWARD_H
#define CLARKE_NETWORK_PASS_FORWARD_H

#include "exact/matrix.h"
#include "network/pass/constants.h"
#include "network/pass/identity.h"
#include "network/pass/margin.h"

/* piece[step][feature * n + column]: of a PIECEWISE step p >= 0 strictly inside piece p, CLARKE_AT(k)
 * exactly at kink k (whose two slopes differ); of a MAX step the place in the window of the
 * largest entry (of the first of them when all are identical), CLARKE_AT(0) when there are several
 * that are not; CLARKE_OPEN when the enclosure does not tell. */
#define CLARKE_AT(k) ((clarke_branch)(-1 - (int)(k)))
#define CLARKE_KINK_OF(code) ((size_t)(-1 - (int)(code)))
#define CLARKE_OPEN INT16_MIN

/* Is one of n places open? */
bool clarke_branches_open(const clarke_branch *piece, size_t n);
/* Makes them so. */
void clarke_branches_leave(clarke_branch *piece, size_t n);

typedef struct {
  const clarke_graph *g;
  const clarke_constants *constants;
  size_t n;            /* columns */
  long precision;
  clarke_matrix *value; /* n_values; 0 x 0 when not needed */
  clarke_branch **piece;      /* n_steps; NULL but for steps with kinks */
  size_t **ties;       /* n_steps: of MAX, by column, windows with several largest entries, identical or not */
  clarke_identities *identities; /* made when windows are tied */
  size_t open;         /* entries left open */
  bool vague;          /* it failed: an enclosure does not tell whether it lies in a function's domain */
  bool outside;        /* it failed: an argument is not in a function's domain, or that cannot be told */
  bool replaced;       /* values may be a record's: what cancels in the graph is not taken for 0 */
  bool refining;       /* places are given; only open ones are looked at */
  clarke_margin **margin; /* NULL, or n_steps by column: takes in the distances of places that refining decides */
} clarke_forward;

void clarke_forward_init(clarke_forward *f);
void clarke_forward_clear(clarke_forward *f);

/* input: features x samples, exact. needed: which values to compute (clarke_graph_needed).
 * precision: bits for transcendental functions. When a step couples the samples the input holds all.
 * CLARKE_EVAGUE: an enclosure has no bounds at this precision. */
clarke_status clarke_forward_run(clarke_forward *f, const clarke_constants *constants,
                                 const clarke_matrix *input, const bool *needed, long precision,
                                 clarke_error *err);

/* Did the pass fail for want of precision? */
static inline bool
clarke_forward_is_vague(const clarke_forward *f, clarke_status status)
{
  return status == CLARKE_EVAGUE || (status != CLARKE_OK && f->vague);
}

/* The same step by step: the input's values, then step 0, 1, ... in order. Between two steps a value may be replaced by other
 * numbers of its shape, which the steps behind go on from (a record's). */
clarke_status clarke_forward_begin(clarke_forward *f, const clarke_constants *constants, const clarke_matrix *input,
                                   long precision, clarke_error *err);
clarke_status clarke_forward_next(clarke_forward *f, size_t step, clarke_error *err);

/* What a pass in enclosures leaves to one in pairs of doubles (pairs/pass.h): errors have grown so much that these round nothing that counts. */
typedef struct {
  size_t step;          /* the first that is left; n_steps: none is */
  clarke_matrix *value; /* n_values: those that steps from there on read; NULL: none is left */
} clarke_forward_rest;

void clarke_forward_rest_clear(clarke_forward_rest *rest, const clarke_graph *g);

/* What a filter left open, once more, in enclosures rounded to that many bits. piece, over the input's
 * columns: its open places are replaced where an enclosure decides them strictly, or identity does a window;
 * no kink is ever found to be touched. ties grow by the windows that were decided by identity. Values are
 * dropped behind their last use, and nothing is computed on which no open place depends. margin: NULL, or takes in the
 * distances of places so decided. *inside, if it is set: functions that have a domain are computed, too, and it stays set where
 * all arguments are certainly in it. Where enclosures have no bounds, or may leave a domain, the pass ends there, and what is behind
 * is left open. rest: NULL, or what is left to pairs where these do as well; the caller clears it. */
clarke_status clarke_forward_refine(clarke_branch **piece, size_t **ties, clarke_margin **margin, bool *inside, clarke_forward_rest *rest,
                                    const clarke_constants *constants, const clarke_matrix *input, const clarke_tensor *x, size_t bits,
                                    clarke_error *err);

/* Which values open places over n samples depend on, and with `inside` functions that have a domain; last[v]: the last step that reads
 * it for one. */
void clarke_forward_open_needs(bool *needed, size_t *last, const clarke_graph *g, clarke_branch *const *piece, size_t n, bool inside);

/* One column of a pass, as a pass of its own. */
clarke_status clarke_forward_column(clarke_forward *f, const clarke_forward *all, size_t column,
                                    clarke_error *err);

/* The distance of a decided place of a step whose argument has been computed, into f->margin if there is one. */
void clarke_forward_measure(clarke_forward *f, size_t step, size_t feature, size_t column);

#endif
