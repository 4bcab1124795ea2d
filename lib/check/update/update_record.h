/* Proofs about recorded steps of optimizers (docs/proof-format.md, "Recorded steps of optimizers"). */
#ifndef CLARKE_KERNEL_UPDATE_RECORD_H
#define CLARKE_KERNEL_UPDATE_RECORD_H

/* From the line `optimizer` on. */
void check_recorded_update(const char *folder);

#endif
