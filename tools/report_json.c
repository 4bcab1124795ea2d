#include "report_json.h"

#include <stdio.h>

json_t *
clarke_json_text(const char *text)
{
  json_t *j;

  if (text == NULL)
    return json_null();
  j = json_string(text);
  return j != NULL ? j : json_string("(not UTF-8)");
}

clarke_status
clarke_json_print(json_t *j, size_t flags, const char *end, clarke_error *err)
{
  if (j == NULL)
    return clarke_fail(err, CLARKE_EINTERNAL, "a JSON object could not be made");
  json_dumpf(j, stdout, flags); /* standard output remembers its errors: process.h */
  fputs(end, stdout);
  json_decref(j);
  return CLARKE_OK;
}
