#include "check_needs.h"

#include "watch.h"
#include "session/json.h"

#include <stdio.h>
#include <sys/stat.h>

static size_t
size_of(const char *path)
{
  struct stat st;

  return path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
}

void
clarke_check_needs_read(clarke_check_needs *c, const char *proof, const char *const *other, size_t n)
{
  size_t bytes = size_of(proof);

  for (size_t i = 0; i < n; i++)
    bytes += size_of(other[i]);
  clarke_check_needs_begin(c, bytes);
}

/* Memory, which is an estimate, gets a quarter more, in whole MiB: a limit that is too high costs nothing. */
static size_t
to_give(const clarke_check_needs *c, clarke_check_limit which)
{
  const size_t n = c->needs[which];

  return which == CLARKE_CHECK_MEMORY ? ((n >> 20) + (n >> 22) + 1) << 20 : n;
}

void
clarke_say_check_needs(const char *command, const clarke_check_needs *c)
{
  bool any = false;

  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    if (clarke_check_needs_more(c, i)) {
      clarke_watch_hide(true);
      if (!any)
        fprintf(stderr, "clarke %s: by its defaults clarke-check may refuse this proof as too large: give it", command);
      fprintf(stderr, " --limit %s=%zu", clarke_check_limit_name(i), to_give(c, i));
      any = true;
    }
  if (any)
    fputc('\n', stderr);
}

static json_t *
one_json(const clarke_check_needs *c, clarke_check_limit which)
{
  const char *name = clarke_check_limit_name(which);

  return json_pack("{s:s, s:I, s:I, s:o}", "limit", name, "needs", (json_int_t)c->needs[which], "default",
                   (json_int_t)clarke_check_limit_default(which, c->bytes), "option",
                   json_sprintf("--limit %s=%zu", name, to_give(c, which)));
}

void
clarke_set_check_needs(json_t **report, const clarke_check_needs *c)
{
  json_t *list = json_array();

  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    if (clarke_check_needs_more(c, i))
      clarke_json_append(&list, one_json(c, i));
  if (list == NULL || json_array_size(list) > 0)
    clarke_json_set(report, "check_limits", list);
  else
    json_decref(list);
}
