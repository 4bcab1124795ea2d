/* An answer as one page of HTML, from the object that --json prints: any command's. */
#ifndef CLARKE_TOOLS_REPORT_H
#define CLARKE_TOOLS_REPORT_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* What a page says beside the answer; NULL: it is not known. */
typedef struct {
  const char *file, *sha256; /* of the answer */
  const char *proof, *proof_sha256, *data;
} clarke_report_source;

/* Whole or not at all; path NULL: to standard output. */
clarke_status clarke_report_write(const char *path, const json_t *answer, const clarke_report_source *source,
                                  clarke_error *err);

/* report_audit.c, report_certify.c, report_derive.c, report_outside.c, report_any.c: the page's head, and what is between it and the proof. */
void clarke_report_audit(FILE *to, const json_t *answer);
void clarke_report_checkpoints(FILE *to, const json_t *answer);
void clarke_report_certify(FILE *to, const json_t *answer);
void clarke_report_derive(FILE *to, const json_t *answer);
void clarke_report_outside(FILE *to, const json_t *answer);
void clarke_report_any(FILE *to, const json_t *answer);

/* report_pictures.c, report_separator.c: of an audit that has them; else nothing. */
void clarke_report_pictures(FILE *to, const json_t *answer);
void clarke_report_separator(FILE *to, const json_t *answer);

/* report_any.c: a value of any kind. */
void clarke_report_value(FILE *to, const json_t *value, size_t depth);

#endif
