/* What a record says of itself, in the reports of audit and certify. */
#ifndef CLARKE_TOOLS_RECORDED_H
#define CLARKE_TOOLS_RECORDED_H

#include "session/record.h"

/* Two lines: what ran and where, in which types; and what run.json alone says. The second is missing where that is nothing. */
void clarke_print_record(const clarke_record *r);

#endif
