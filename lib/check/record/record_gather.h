/* A value's gradient, as it is gathered from what all that read it hand back (record.h). */
#ifndef CLARKE_KERNEL_RECORD_GATHER_H
#define CLARKE_KERNEL_RECORD_GATHER_H

#include "check/record/record_filter.h"
#include "check/record/record_node.h"

typedef struct {
  record *r;
  const graph_value *v;  /* whose gradient it is */
  size_t type;           /* of the recorded one */
  size_t *place;         /* entry of v by feature, or by entry of the constant; NONE */
  filter *doubles;       /* [entry * samples + b]: NULL once all was added up in doubles */
  sum *sums;             /* likewise: in integers, of those that doubles do not tell */
  bool *asked;           /* likewise: which these are */
  cotangent *composed;   /* likewise: what composed nodes hand back; NULL: none does */
  bool rough;            /* in doubles: those are, too */
  size_t readers;        /* nodes */
  bool unknown;          /* something that reads it is not covered */
  bool unbounded;        /* something that reads it is not known as a number: of no entry there is a bound */
  const tensor *winners; /* of the step at work, a WINDOW; or NULL */
  const graph_value *pooled;
  const graph_value **via;       /* v; then values behind it whose gradients were not recorded */
  size_t n_via, *nodes, n_nodes; /* nodes: that read one of these, and do not only move its entries */
} gather;

/* Are both views of the same entries, of one step or one constant? */
bool gather_shares(const graph_value *v, const graph_value *w);
/* What a node's output was given: its recorded gradient; NULL: there is none with the samples first. */
const tensor *gather_given(record *r, const graph_value *w);

/* record_gather.c: what these nodes hand back, with all between them and the recorded gradients behind. */
void gather_chain(gather *g, const size_t *nodes, size_t n);

#endif
