/* What the files of the replay share: its three passes, in their order, and the samples that they are over. */
#ifndef CLARKE_NETWORK_REPLAY_REPLAY_INSIDE_H
#define CLARKE_NETWORK_REPLAY_REPLAY_INSIDE_H

#include "network/norms/growth.h"
#include "network/replay/replay.h"

/* Bits of the last pass's transcendental functions. Radii are doubles, so many more would say nothing. */
#define CLARKE_PRECISION_LAST 1024

/* Those samples as features x samples, exact. Integers below 2^53 are doubles. */
clarke_status clarke_samples_matrix(clarke_matrix *input, const clarke_tensor *x, const size_t *sample, size_t n,
                                    clarke_error *err);
/* Those samples as a batch of their own, whose x->real is the caller's to free. */
clarke_status clarke_samples_pick(clarke_tensor *x, const clarke_replay *r, const size_t *sample, size_t n,
                                  clarke_error *err);
/* Sets mark[j] of the samples with an open entry; touched: of those with one at a kink, too. */
void clarke_samples_mark(const clarke_replay *r, bool *mark, bool touched);
/* *sample (malloc, also on failure): the samples with an open entry (all where they are coupled, or
 * some function has a domain); *n: how many. */
clarke_status clarke_samples_open(size_t **sample, size_t *n, const clarke_replay *r, clarke_error *err);
/* The open ones among places over n samples. */
size_t clarke_places_open(const clarke_graph *g, clarke_branch *const *piece, size_t n);

/* Those samples' margins, by what refining them took in; NULL: none. */
void clarke_replay_join_margins(clarke_replay *r, clarke_margin **margin, const size_t *sample, size_t n);
/* Those of the samples of an exact pass, made anew; while that is worth while: where they touch nothing. */
void clarke_replay_measure_pass(clarke_replay *r, const clarke_forward *f, const size_t *sample);
/* An exact pass over those samples, at growing precision while entries are open: from the bits on that r->bits guesses. */
clarke_status clarke_replay_pass(clarke_forward *f, const clarke_replay *r, const size_t *sample, size_t n,
                                 const bool *needed, clarke_error *err);
/* Samples whose exact pass may be held at a time. */
size_t clarke_replay_group_size(const clarke_replay *r);

/* The filter over all samples, on up to `threads` threads: places that it decides are set, *open is what it leaves.
 * growths: NULL, or those of the steps that kinks need. */
clarke_status clarke_replay_filter(clarke_replay *r, const clarke_growths *growths, size_t threads, size_t *open,
                                   clarke_error *err);
/* Some samples and their places, while a pass over them alone decides open ones. */
typedef struct {
  const size_t *sample;
  size_t n, open; /* samples; their open places when they were taken */
  clarke_branch **piece; /* n_steps, as the replay's, by these samples; ties begin at 0 */
  size_t **ties;
  clarke_margin **margin; /* NULL: not asked for */
  clarke_tensor x;
} clarke_open_group;

/* Cleared by the other also when it failed. */
clarke_status clarke_open_group_take(clarke_open_group *group, const clarke_replay *r, const size_t *sample, size_t n,
                                     clarke_error *err);
void clarke_open_group_clear(clarke_open_group *group, const clarke_replay *r);
/* What was decided, into the replay; the places that are still open. */
size_t clarke_open_group_give(const clarke_open_group *group, clarke_replay *r);

/* Is the graph deep enough for norms, and slices, to be worth while? */
bool clarke_replay_is_deep(const clarke_graph *g);
/* Is the graph so deep that the filter would leave much open, of which slices would do all again? Only of coupled samples,
 * which it has no norms of. */
bool clarke_replay_is_lost(const clarke_replay *r);
/* Is the graph so deep that the filter would lose most of it, and slices do not serve? Then pairs take all of it at once. */
bool clarke_replay_wants_pairs(const clarke_replay *r);
/* Between filter and enclosures: open places in slices, where they serve. *open: what is left. growths: what is known of
 * the steps; more becomes known. */
clarke_status clarke_replay_slice(clarke_replay *r, clarke_growths *growths, size_t *open, clarke_error *err);
/* Bits of enclosures that what the filter left open asks for, by how soon errors reached the kinks in doubles: a guess, at least
 * CLARKE_BITS_FIRST. */
#define CLARKE_BITS_FIRST 63
size_t clarke_replay_bits(const clarke_replay *r);
/* Is a place open where errors have not grown to half of what doubles had? It is at a kink, as a rule: an exact pass is made in any case. */
bool clarke_replay_touches_early(const clarke_replay *r);
/* Between filter and exact pass: some open places are decided in enclosures. *left: the samples with entries that are
 * still open. */
clarke_status clarke_replay_refine(clarke_replay *r, size_t *left, clarke_error *err);
/* near_sample[0..n): those samples exactly, group by group; it ends as those of them that must be kept, with the
 * pass over them and its touches. */
clarke_status clarke_replay_exact(clarke_replay *r, size_t n, const bool *needed, clarke_error *err);
/* Fails where the samples are coupled, and too large together for an exact pass. */
clarke_status clarke_replay_check_coupled(const clarke_replay *r, clarke_error *err);

#endif
