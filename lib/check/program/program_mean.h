/* Arcs whose gradients, weighted, add up to AD's output because their choices have AD's derivatives for their means
 * (docs/proof-format.md, "Means of choices"). */
#ifndef CLARKE_KERNEL_PROGRAM_MEAN_H
#define CLARKE_KERNEL_PROGRAM_MEAN_H

#include "check/program/program_evidence.h"

extern const mean_rules arc_means;

#endif
