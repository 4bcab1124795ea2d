/* The table of the theorems. */
#ifndef CLARKE_AUDIT_THEOREMS_THEOREMS_H
#define CLARKE_AUDIT_THEOREMS_THEOREMS_H

#include "audit/audit.h"

/* Fills a->theorem, each by its own file in theorems. */
void clarke_theorems_judge(clarke_audit *a, const clarke_question *q);

#endif
