/* Directions that realize a cell. */
#ifndef CLARKE_AUDIT_REALIZE_H
#define CLARKE_AUDIT_REALIZE_H

#include "audit/audit.h"

/* Directions for a cell, layer by layer and then globally. The layers' feasibility and
 * the global answer are recorded in a when report is set. */
clarke_status clarke_realize(bool *realized, clarke_cell *cell, clarke_audit *a, bool report,
                             const clarke_question *q, clarke_error *err);

/* The same by the layers' systems alone. */
clarke_status clarke_realize_by_layers(bool *realized, clarke_cell *cell, clarke_audit *a,
                                       const clarke_question *q, clarke_error *err);

#endif
