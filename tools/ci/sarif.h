/* Findings as SARIF 2.1.0 (OASIS), in the part of it that code hosts read. */
#ifndef CLARKE_TOOLS_SARIF_H
#define CLARKE_TOOLS_SARIF_H

#include "findings.h"

/* The name under which a result has its fingerprint, by which --baseline knows it. */
#define CLARKE_SARIF_FINGERPRINT "clarke/v1"

/* Whole or not at all. compared: findings were held against a baseline, and each result says whether it is new. */
clarke_status clarke_sarif_write(const char *path, const clarke_findings *list, int exit_status, bool compared,
                                 clarke_error *err);

#endif
