/* Proofs about steps of optimizers (docs/proof-format.md, "Steps of optimizers"). */
#ifndef CLARKE_KERNEL_UPDATE_PROOF_H
#define CLARKE_KERNEL_UPDATE_PROOF_H

/* From the line `rule` on. */
void check_update(void);

#endif
