/* A step that left the reals: what made the first NaN or infinity, and its path. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#include <stdio.h>
#include <string.h>

static void
put_step(FILE *to, const char *name, const json_t *value)
{
  if (value == NULL || json_is_null(value))
    return;
  clarke_markup(to, "<dt>%s</dt><dd>", name);
  clarke_report_value(to, value, 1);
  fputs("</dd>\n", to);
}

/* From the line in the user's file to the number: each step of the way that is known. */
static void
put_path(FILE *to, const json_t *outside)
{
  static const struct {
    const char *name, *key;
  } steps[] = {{"called at", "source"},   {"in module", "module"},         {"the operator", "operator"},           {"its derivative", "derivative"},
               {"in entry", "entry"},     {"of sample", "sample"},         {"it read", "argument"},               {"the gradient that came in", "incoming"},
               {"in the pass", "pass"},   {"what came out", "value"},      {"why", "rule"},                       {"is the real function differentiable there", "differentiable"},
               {"a finite element of its subdifferential", "element"},     {"write instead", "instead"}};

  fputs("<dl>\n", to);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    put_step(to, steps[i].name, json_object_get(outside, steps[i].key));
  fputs("</dl>\n", to);
}

static void
put_lines(FILE *to, const json_t *lines)
{
  size_t i = 0;

  for (; i < json_array_size(lines) && clarke_page_goes_on(to, i, 100); i++) {
    fputs("<p>", to);
    clarke_page_scalar(to, json_array_get(lines, i));
    fputs("</p>\n", to);
  }
  clarke_page_more(to, json_array_size(lines) - i);
}

/* What made it, where, if that is known. */
static void
put_sentence(char sentence[CLARKE_PAGE_SENTENCE], const json_t *outside)
{
  const char *operator = clarke_text_at(outside, "operator"), *source = clarke_text_at(outside, "source");

  if (*operator == '\0' || *clarke_text_at(outside, "value") == '\0')
    snprintf(sentence, CLARKE_PAGE_SENTENCE, "The step leaves the real numbers");
  else
    snprintf(sentence, CLARKE_PAGE_SENTENCE, "%.20s of the %.20s pass comes from %.100s%s%.200s", clarke_text_at(outside, "value"),
             clarke_text_at(outside, "pass"), operator, *source != '\0' ? " at " : "", source);
}

void
clarke_report_outside(FILE *to, const json_t *answer)
{
  const json_t *outside = json_object_get(answer, "outside");
  const char *value = clarke_text_at(outside, "value");
  const bool norm = strcmp(value, "0") == 0;
  char sentence[CLARKE_PAGE_SENTENCE];

  put_sentence(sentence, outside);
  clarke_page_begin(to, "clarke audit", "", norm ? CLARKE_TONE_OPEN : CLARKE_TONE_BAD, norm ? "a norm of zeros" : *value != '\0' ? value : "outside the reals",
                    norm ? "The step takes the derivative of a norm where it has none" : sentence, "");
  clarke_page_summary(to, answer);
  clarke_page_head_end(to);
  clarke_page_section(to, "What the recorder says");
  put_lines(to, json_object_get(outside, "lines"));
  clarke_page_section_end(to);
  clarke_page_section(to, "Its path");
  put_path(to, outside);
  clarke_page_section_end(to);
}
