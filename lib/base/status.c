#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

clarke_status
clarke_fail(clarke_error *err, clarke_status code, const char *format, ...)
{
  va_list args;

  if (err == NULL)
    return code;
  err->code = code;
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  return code;
}

clarke_status
clarke_fail_in(clarke_error *err, clarke_status code, const char *format, ...)
{
  char context[sizeof err->text];
  char message[sizeof err->text];
  va_list args;

  if (err == NULL)
    return code;
  err->code = code;
  va_start(args, format);
  vsnprintf(context, sizeof context, format, args);
  va_end(args);
  memcpy(message, err->text, sizeof message);
  message[sizeof message - 1] = '\0';
  if (snprintf(err->text, sizeof err->text, "%s: %s", context, message) < 0)
    err->text[0] = '\0';
  return code;
}

clarke_status
clarke_no_memory(clarke_error *err)
{
  return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
}
