/* The pattern that the hardware followed, beside the exact one: at which kinks and windows do they part? Exactly means: the
 * network's own function of parameters and batch, replayed in exact arithmetic. */
#ifndef CLARKE_TRACE_BRANCHES_H
#define CLARKE_TRACE_BRANCHES_H

#include "trace/certify/certify.h"

typedef enum {
  CLARKE_AT_RECORDED, /* recorded at the kink, or tied, and exactly not */
  CLARKE_AT_EXACTLY,  /* exactly at the kink, or tied, and recorded at a side, or with one winner */
  CLARKE_OTHER_SIDE,  /* on two sides of a kink; of a window: a loser was taken as winner */
} clarke_divergence;

typedef struct {
  clarke_divergence kind;
  size_t step, feature, sample;
  bool alike; /* AD's slope at the recorded number is the exact one's own: the gradient is the same */
  bool touched; /* is it exactly at a kink, or are its entries tied? (A loser may have been taken as winner all the same.) */
} clarke_parted;

typedef struct {
  size_t asked;      /* arguments of kinks, and windows */
  size_t open;       /* of these, where exact arithmetic did not tell */
  size_t unrecorded; /* whose argument was not recorded; */
  size_t doubtful;   /* of these, where rounding may have turned the branch; and all that are open */
  size_t n, capacity;
  clarke_parted *parted; /* in order of step, feature, sample */
} clarke_branches;

void clarke_branches_init(clarke_branches *p);
void clarke_branches_clear(clarke_branches *p);

/* c: what clarke_certify_run made; r: the replay of its graph's parameters and batch. Where a window's winners differ an exact pass
 * is made over all samples. */
clarke_status clarke_branches_compare(clarke_branches *p, const clarke_certify *c, clarke_replay *r, clarke_error *err);

/* The side of touch k (of the replay) that the record took: CLARKE_LEFT, CLARKE_RIGHT, CLARKE_OPTION(o); CLARKE_PROXY where the
 * record touches it, too. *known is false where it took none of them. */
clarke_branch clarke_branches_side(bool *known, const clarke_certify *c, const clarke_replay *r, size_t k);

/* The first kink or window, in a's order, at which two records of one step part; false: they follow one pattern. twin:
 * by step of a's graph that of b's; a step with kinks has one. */
typedef struct {
  size_t step, feature, sample;
} clarke_bifurcation;
bool clarke_branches_fork(clarke_bifurcation *fork, const clarke_certify *a, const clarke_certify *b, const size_t *twin);

#endif
