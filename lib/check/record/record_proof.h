/* Proofs about recorded training steps (docs/proof-format.md, section 7). */
#ifndef CLARKE_KERNEL_RECORD_PROOF_H
#define CLARKE_KERNEL_RECORD_PROOF_H

void check_record(const char *folder); /* after the line `claim record` */

#endif
