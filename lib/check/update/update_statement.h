/* What a proof states of a rule of an optimizer, in its lines (docs/proof-format.md, "Steps of optimizers"); the account has it, too. */
#ifndef CLARKE_KERNEL_UPDATE_STATEMENT_H
#define CLARKE_KERNEL_UPDATE_STATEMENT_H

#include "check/update/update_rule.h"

void update_read_rule(update *u);     /* `rule NAME` */
void update_read_settings(update *u); /* its numbers, and what may be chosen; u begins (update_begin) */
/* Entry i of a slot lies between the two numbers that are next. */
void update_check_entry(interval *x, const char *slot, size_t i);

#endif
