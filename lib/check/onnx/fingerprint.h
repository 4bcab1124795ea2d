/* Fingerprints: what the nodes compute at one point modulo 2^61 - 1 (docs/proof-format.md, "Fingerprints"). */
#ifndef CLARKE_KERNEL_FINGERPRINT_H
#define CLARKE_KERNEL_FINGERPRINT_H

#include "check/kernel/steps.h"

typedef uint64_t residue; /* below 2^61 - 1 */

typedef struct {
  const network *net;
  size_t samples;
  residue **y; /* of each step, [feature * samples + sample] */
} prints;

prints prints_take(const network *net);                  /* of all steps; see docs/proof-format.md */
residue print_of(const prints *p, const graph_value *v); /* of an activation */
/* The lines `fingerprint`, as many as are next: each must be that of the node's output. */
void check_fingerprints(const network *net);

#endif
