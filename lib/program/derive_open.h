/* Where no choice of proxies changes what AD returns: every fork is left open. */
#ifndef CLARKE_PROGRAM_DERIVE_OPEN_H
#define CLARKE_PROGRAM_DERIVE_OPEN_H

#include "program/derive.h"

/* d->opened, and d->n_open: with every fork left open (docs/proof-format.md, "Programs") the outputs' gradients are AD's
 * output alone, which is rational. */
clarke_status clarke_derive_open(clarke_derivation *d, clarke_error *err);

#endif
