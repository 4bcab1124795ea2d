/* What the files of findings share. */
#ifndef CLARKE_TOOLS_FINDINGS_INSIDE_H
#define CLARKE_TOOLS_FINDINGS_INSIDE_H

#include "findings.h"

/* At the list's end, with a message; NULL where memory ended, which the list remembers. */
clarke_finding *clarke_findings_add(clarke_findings *list, clarke_finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
