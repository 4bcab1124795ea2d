/* Proofs about recorded training steps (docs/proof-format.md, "Recorded steps"). */
#ifndef CLARKE_KERNEL_RECORD_PROOF_H
#define CLARKE_KERNEL_RECORD_PROOF_H

#include "check/files/onnx.h"
#include "check/kernel/point.h"

/* After `claim record` and the lines of the network, the model, its batch: the rest, of files in that folder. */
void check_record(point *p, const model *m, const char *folder);

#endif
