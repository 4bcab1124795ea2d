/* Proofs about the patterns around a point, of a function that is polynomial on pieces. */
#ifndef CLARKE_KERNEL_PATTERN_PROOF_H
#define CLARKE_KERNEL_PATTERN_PROOF_H

/* Reads the proof from the line after `claim patterns` on, checks it and says what is verified. */
void check_patterns(const char *folder);

#endif
