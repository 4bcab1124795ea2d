/* Steps that are computed together from what was recorded before them: those of some nodes, and of all before these whose outputs
 * were not recorded (docs/proof-format.md, "What was not recorded"). */
#ifndef CLARKE_KERNEL_RECORD_CHAIN_H
#define CLARKE_KERNEL_RECORD_CHAIN_H

#include "check/record/record.h"

typedef struct {
  bool *has;        /* by step */
  bool *own;        /* by node: it is one that was asked about, or what reads that */
  size_t low, high; /* the first of them, and one past the last */
  size_t samples;   /* how many are computed together */
  bool covers;      /* false: some step has no rule, or something that they read is not known */
} chain;

void chain_begin(chain *c, const record *r); /* empty */
/* The step, or all of the node; own: of one that is asked about. */
void chain_add(chain *c, const record *r, size_t s);
void chain_add_node(chain *c, const record *r, size_t place, bool own);
/* Adds what was not recorded, back to what was. How much of that there may be, in all, is a limit. */
void chain_close(chain *c, const record *r);
void chain_end(chain *c);

#endif
