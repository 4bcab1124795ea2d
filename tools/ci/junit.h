/* Questions and findings as JUnit's XML (junit-10.xsd of Jenkins). */
#ifndef CLARKE_TOOLS_JUNIT_H
#define CLARKE_TOOLS_JUNIT_H

#include "findings.h"

/* Whole or not at all. A question is a test case; it fails where its finding's status is not 0. There are no times in it. */
clarke_status clarke_junit_write(const char *path, const clarke_findings *list, clarke_error *err);

#endif
