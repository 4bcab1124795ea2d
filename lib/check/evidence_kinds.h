/* All kinds of evidence about AD's output of a network. */
#ifndef CLARKE_CHECK_EVIDENCE_KINDS_H
#define CLARKE_CHECK_EVIDENCE_KINDS_H

#include "check/kernel/evidence.h"

#define N_EVIDENCE 8
extern const evidence_kind evidence_kinds[N_EVIDENCE];

#endif
