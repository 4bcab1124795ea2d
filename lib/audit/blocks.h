/* Blocks of layers' systems without a direction: separated, or surrounded. */
#ifndef CLARKE_AUDIT_BLOCKS_H
#define CLARKE_AUDIT_BLOCKS_H

#include "audit/audit.h"

/* Membership's place is OUTSIDE when AD's output is separated in the parameters of such a block (v and the
 * tree say how), INSIDE when all such blocks are surrounded by cells (the simplices, and `others`); else UNSETTLED. */
clarke_status clarke_settle_blocks(clarke_audit *a, clarke_question *q, clarke_error *err);

#endif
