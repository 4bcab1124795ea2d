/* Replay of a minibatch: where every activation lies relative to its kinks, exactly.
 *
 * The filter decides what it can; samples with an entry left open are run in rounded enclosures, and
 * those with one left open then exactly, at growing precision when transcendental functions come before
 * a kink. --exact skips the filter and the rounded enclosures: the answer is the same. */
#ifndef CLARKE_NETWORK_REPLAY_REPLAY_H
#define CLARKE_NETWORK_REPLAY_REPLAY_H

#include "network/pass/forward.h"
#include "network/pass/touch.h"

typedef struct {
  const clarke_graph *g;
  size_t samples;
  const clarke_tensor *x;     /* the batch: outlives the replay */
  clarke_constants constants; /* made when an exact pass is */
  clarke_branch **piece;       /* n_steps, as in clarke_forward, over all samples */
  size_t **ties;        /* n_steps: of MAX, by sample, windows with several largest entries */
  /* The exact pass over the samples that filter and enclosures left open; when it would be too large, over those of
   * them that touch kinks. Where a step couples the samples, over all of them if any is open. */
  clarke_forward near;
  size_t *near_sample;  /* their numbers, increasing */
  size_t n_touches, n_conditions;
  clarke_touch *touch;
  size_t open;          /* entries that stayed open at the highest precision; without any pass, n_touches being 0, where its
                         * enclosures have no bounds */
  size_t filtered;      /* entries the filter decided */
  size_t refined;       /* entries that rounded enclosures decided behind it */
  bool inside;          /* enclosures of all samples are in the domains of functions that have one */
  size_t bits;          /* where enclosures begin: a guess by what the filter left open */
  clarke_margins *margins; /* NULL, or filled by the run that was asked for them: they outlive it */
} clarke_replay;

void clarke_replay_init(clarke_replay *r);
void clarke_replay_clear(clarke_replay *r);

/* x: the batch array that g was built for; it is kept by reference. The filter runs on up to `threads`
 * threads; the answer does not depend on their number. margins: NULL, or how near what touches no kink comes to one. */
clarke_status clarke_replay_run(clarke_replay *r, clarke_margins *margins, const clarke_graph *g,
                                const clarke_tensor *x, bool exact, size_t threads, clarke_error *err);

/* Are all touches of the step known, and all ties of its windows? So they are of each step where nothing is open. */
bool clarke_replay_knows(const clarke_replay *r, size_t step);

/* Touches in order, each at a kink of its sample's exact pass, their conditions numbered through. */
bool clarke_replay_is_valid(const clarke_replay *r);

/* The exact pass over all samples: what kinks' arguments need, with loss the outputs too. Over some of them, whose numbers increase: its columns
 * (coupled samples go together). */
clarke_status clarke_replay_some(clarke_forward *f, clarke_replay *r, const size_t *sample, size_t n, bool loss, long precision,
                                 clarke_error *err);
clarke_status clarke_replay_all(clarke_forward *f, clarke_replay *r, bool loss, long precision,
                                clarke_error *err);

#endif
