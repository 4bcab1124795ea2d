/* A program, or a small network, at a point. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#define MOST_KINKS ((size_t)500)

static void
put_kink(FILE *to, const json_t *kink)
{
  clarke_page_cell_of(to, kink, "node");
  clarke_page_cell_of(to, kink, "argument");
  fputs("<td>", to);
  clarke_report_value(to, json_object_get(kink, "slopes"), 1);
  fputs("</td><td>", to);
  clarke_report_value(to, json_object_get(kink, "proxy"), 1);
  fputs("</td>", to);
}

static void
put_facts(FILE *to, const json_t *answer, const char *heading, const char *const keys[][2], size_t n)
{
  clarke_page_section(to, heading);
  fputs("<dl>\n", to);
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_object_get(answer, keys[i][0]);

    if (value == NULL)
      continue;
    clarke_markup(to, "<dt>%s</dt><dd>", keys[i][1]);
    clarke_report_value(to, value, 1);
    fputs("</dd>\n", to);
  }
  fputs("</dl>\n", to);
  clarke_page_section_end(to);
}

void
clarke_report_derive(FILE *to, const json_t *answer)
{
  static const char *const asked[][2] = {
      {"file", "file"}, {"at", "at"}, {"wrt", "derivatives in"}, {"profile", "AD as in"}, {"semantics", "semantics"}};
  static const char *const found[][2] = {{"value", "value"},
                                         {"ad", "AD"},
                                         {"bouligand", "Bouligand set"},
                                         {"clarke", "Clarke set, its vertices"},
                                         {"conservative", "conservative set, its vertices"},
                                         {"selection", "selection set"},
                                         {"least", "least norm"},
                                         {"differentiable", "differentiable"},
                                         {"zone", "zone"},
                                         {"representation", "representation"},
                                         {"float", "in floats"},
                                         {"check_limits", "limits that clarke-check needs"}};
  const clarke_plain *plain = clarke_plain_verdict(clarke_text_at(answer, "verdict"), NULL);
  const json_t *touched = json_object_get(answer, "touched");

  char sentence[CLARKE_PAGE_SENTENCE];

  clarke_page_begin(to, "clarke derive", clarke_text_at(answer, "file"), plain->tone, plain->name,
                    clarke_page_sentence(sentence, answer, plain->sentence), "");
  clarke_page_summary(to, answer);
  clarke_page_head_end(to);
  put_facts(to, answer, "What was asked", asked, sizeof asked / sizeof *asked);
  put_facts(to, answer, "What was found", found, sizeof found / sizeof *found);
  clarke_page_section(to, "Kinks touched");
  clarke_markup(
      to, json_is_array(touched) ? "<p>%zu kinks are touched.</p>\n" : "<p>It is not known which kinks are touched.</p>\n",
      json_array_size(touched));
  if (json_array_size(touched) > 0)
    clarke_page_table(to, "kink\targument\tslopes\tAD takes", touched, MOST_KINKS, put_kink);
  clarke_page_section_end(to);
  clarke_page_why(to, clarke_text_at(answer, "why"));
}
