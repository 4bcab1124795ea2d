/* Where the record's branches part from those of exact arithmetic, at the record's parameters and batch. */
#ifndef CLARKE_KERNEL_RECORD_PATTERN_H
#define CLARKE_KERNEL_RECORD_PATTERN_H

#include "check/record/record.h"
#include "check/kernel/window.h"

bool pattern_has(const node *n);                      /* is it of an operator with kinks or windows? */
bool pattern_covers(const record *r, const step *st); /* of such a node; NULL: rules for it are not there */
/* Reads n lines `part` and compares them with what is: how many kinks and windows the step has. The point is evaluated. */
size_t pattern_check(record *r, const step *st, size_t n);

#endif
