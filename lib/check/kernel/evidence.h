/* Proofs about AD's output of a network. */
#ifndef CLARKE_KERNEL_EVIDENCE_H
#define CLARKE_KERNEL_EVIDENCE_H

#include "check/kernel/point.h"

/* What is claimed of AD's output at a point, as far as it was read. */
typedef struct {
  point *p;
  network *net; /* the point's */
  cell c;
  rational *ad;  /* the proxies, as slopes; of windows, what the tie rule gives */
  rational *sum; /* a combination of gradients; wrt's entries end to end. Numbers once they are needed */
} claim;

/* A kind of evidence: the word that a proof has for it, and for which verdicts it may stand. They are handed down from the top. */
typedef struct {
  const char *word;
  bool bouligand, clarke, outside;
  void (*check)(claim *q,
                bool bouligand); /* reads its lines; the verdict is in-bouligand? What does not hold is a failure */
} evidence_kind;

void read_sides(claim *q); /* one of each touched kink, into c */
/* The cell with the sides in c is realized, by the directions that follow. */
void check_cell(claim *q);
void add_last_gradient(claim *q, const rational *by); /* sum += by * the gradient that was made last */

/* Reads what a proof says of a network at its weights, with its batch: the lines behind its files, from `loss` on, and
 * the evidence for that verdict, of one of n kinds. What does not hold is a failure. */
void check_output(point *p, const char *verdict, const evidence_kind *kinds, size_t n);

#endif
