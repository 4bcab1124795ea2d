/* What a command printed with --json. */
#ifndef CLARKE_TESTS_TOOLS_REPORT_H
#define CLARKE_TESTS_TOOLS_REPORT_H

#include "command.h"

#include <jansson.h>

static inline json_t *
report(void)
{
  char *text = text_of("out");
  json_error_t e;
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &e);

  ck_assert_msg(j != NULL, "%s in: %s", e.text, text);
  free(text);
  return j;
}

#endif
