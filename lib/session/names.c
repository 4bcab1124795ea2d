#include "session/names.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_names_split(char ***names, size_t *n, const char *list, const char *option, clarke_error *err)
{
  while (list != NULL) {
    const size_t length = strcspn(list, ",");
    char **grown = realloc(*names, (*n + 1) * sizeof *grown);

    if (grown == NULL)
      return clarke_no_memory(err);
    *names = grown;
    grown[*n] = strndup(list, length);
    if (grown[(*n)++] == NULL)
      return clarke_no_memory(err);
    if (length == 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: expected names, with commas between", option);
    list = list[length] == ',' ? list + length + 1 : NULL;
  }
  return CLARKE_OK;
}

void
clarke_names_free(char **names, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(names[i]);
  free(names);
}

bool
clarke_names_have(char *const *names, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}
