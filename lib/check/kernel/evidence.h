/* Proofs about AD's output of a network. */
#ifndef CLARKE_KERNEL_EVIDENCE_H
#define CLARKE_KERNEL_EVIDENCE_H

#include "check/kernel/point.h"

typedef struct bounds bounds;

/* Trees whose leaves are families of cells: bound.h has these. */
typedef struct {
  /* After the lines `v`, with c's sides all 0: settles c, and reads the lines `parallel`. Only sides may change in c from then on. */
  bounds *(*begin)(const point *p, cell *c, const rational *ad);
  const cell *(*open)(const bounds *b); /* what c was then: what it knows holds whatever sides are chosen */
  bool (*branches)(const bounds *b, const cell *c, size_t k); /* may touched kink k be branched on, under c's sides? */
  void (*leaf)(const bounds *b, const cell *c);               /* fails unless all cells with c's sides are separated */
} bound_rules;

/* What some evidence alone asks for. It is handed down from the top. */
typedef struct {
  /* check_simplices of simplex.h, and check_compensation of zone.h. */
  void (*simplices)(const point *p, cell *c, const rational *ad, bool bouligand);
  void (*compensation)(const point *p);
  const bound_rules *bounds;
} output_rules;

/* Reads what a proof says of a network at its weights, with its batch: the lines behind its files, from `loss` on, and
 * the evidence for that verdict. What does not hold is a failure. */
void check_output(point *p, const char *verdict, const output_rules *rules);

#endif
