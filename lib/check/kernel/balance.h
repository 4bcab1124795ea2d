/* Balance: AD's output as a mean of cells' gradients with weights that nobody wrote (docs/proof-format.md, "Balance"). */
#ifndef CLARKE_KERNEL_BALANCE_H
#define CLARKE_KERNEL_BALANCE_H

#include "check/kernel/evidence.h"

void check_balance(claim *q, bool bouligand); /* bouligand: it has one cell */

#endif
