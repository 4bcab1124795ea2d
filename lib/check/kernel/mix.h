/* Cells with AD's own slopes (docs/proof-format.md). */
#ifndef CLARKE_KERNEL_MIX_H
#define CLARKE_KERNEL_MIX_H

#include "check/kernel/evidence.h"

void check_ad(claim *q, bool bouligand);  /* the one whose sides AD's slopes are */
void check_mix(claim *q, bool bouligand); /* those of which AD's slopes are a product of means, node by node */

#endif
