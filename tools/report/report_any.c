/* Answers of any shape: facts, tables and lists, as the object has them. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#include <string.h>

#define MOST_ITEMS ((size_t)200)
#define MOST_KEYS ((size_t)60)
#define DEEPEST ((size_t)8)

static bool
is_scalar(const json_t *j)
{
  return !json_is_object(j) && !json_is_array(j);
}

static bool
is_short(const json_t *list)
{
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!is_scalar(json_array_get(list, i)))
      return false;
  return true;
}

/* Numbers and words between commas. */
static void
put_row(FILE *to, const json_t *list)
{
  const size_t n = json_array_size(list);
  size_t i = 0;

  for (; i < n && clarke_page_goes_on(to, i, MOST_ITEMS); i++) {
    fputs(i > 0 ? ", " : "", to);
    clarke_page_scalar(to, json_array_get(list, i));
  }
  if (i < n)
    clarke_markup(to, " <small class=\"more\">%zu more</small>", n - i);
}

static void
put_list(FILE *to, const json_t *list, size_t depth)
{
  const size_t n = json_array_size(list);
  size_t i = 0;

  fputs("<ol>\n", to);
  for (; i < n && clarke_page_goes_on(to, i, MOST_ITEMS); i++) {
    fputs("<li>", to);
    clarke_report_value(to, json_array_get(list, i), depth + 1);
    fputs("</li>\n", to);
  }
  fputs("</ol>\n", to);
  clarke_page_more(to, n - i);
}

static void
put_object(FILE *to, const json_t *object, size_t depth)
{
  const size_t n = json_object_size(object);
  const char *key;
  json_t *value;
  size_t i = 0;

  fputs("<dl>\n", to);
  json_object_foreach((json_t *)object, key, value)
  {
    if (!clarke_page_goes_on(to, i, MOST_KEYS))
      break;
    fputs("<dt>", to);
    clarke_page_text(to, key);
    fputs("</dt><dd>", to);
    clarke_report_value(to, value, depth + 1);
    fputs("</dd>\n", to);
    i++;
  }
  fputs("</dl>\n", to);
  clarke_page_more(to, n - i);
}

void
clarke_report_value(FILE *to, const json_t *value, size_t depth)
{
  if (is_scalar(value))
    clarke_page_scalar(to, value);
  else if (depth >= DEEPEST)
    clarke_markup(to, "<small>%zu more within</small>",
                  json_is_array(value) ? json_array_size(value) : json_object_size(value));
  else if (json_is_object(value))
    put_object(to, value, depth);
  else if (is_short(value))
    put_row(to, value);
  else
    put_list(to, value, depth);
}

void
clarke_report_any(FILE *to, const json_t *answer)
{
  const char *error = clarke_text_at(answer, "error"), *verdict = clarke_text_at(answer, "verdict");

  if (*error != '\0')
    clarke_page_begin(to, "clarke", "not asked", CLARKE_TONE_BAD, "not asked", "The question could not be asked", error);
  else
    clarke_page_begin(to, "clarke", "", CLARKE_TONE_NOTE, *verdict != '\0' ? verdict : "answer", "What was found",
                      clarke_text_at(answer, "why"));
  clarke_page_head_end(to);
  clarke_page_section(to, "The answer");
  clarke_report_value(to, answer, 0);
  clarke_page_section_end(to);
}
