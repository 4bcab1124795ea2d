/* Proofs. */
#ifndef CLARKE_KERNEL_PROOF_H
#define CLARKE_KERNEL_PROOF_H

#include "check/onnx/inputs.h"

/* Checks the proof with its inputs in folder data (NULL: the proof's own), and writes the statement when it holds. */
void clarke_check_proof(const char *path, const char *data);
/* Where the files are that the proof names: data, or NULL: in the proof's own folder. */
const char *proof_folder(const char *path, const char *data);

/* A network and its batch, beside what the proof says of them: the hash of its tape, and the nodes' fingerprints, if any. */
void read_described_network(point *p, model *m, const char *folder);

#endif
