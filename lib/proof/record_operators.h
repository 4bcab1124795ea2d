/* What docs/proof-format.md, "Recorded steps", has a rule for, by operator and attributes. */
#ifndef CLARKE_PROOF_RECORD_OPERATORS_H
#define CLARKE_PROOF_RECORD_OPERATORS_H

#include "op/model.h"

typedef struct {
  bool plain, composed; /* whose rule; neither: there is none */
  bool weighs;          /* composed, and multiplies or adds parameters as they are */
  bool moves;           /* moves entries and computes none. (A Gather may; a Neg does, of a constant) */
  bool pools;           /* has windows */
  bool kinks;           /* has kinks or windows, and so a line `pattern` */
} clarke_record_operator;

/* What proofs about records say of a node's operator. */
clarke_record_operator clarke_record_operator_of(const clarke_model_node *node);

#endif
