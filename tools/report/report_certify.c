/* A recorded step node by node: totals, the worst, where rounding parted, and all nodes. Results of tensor cores. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS ((size_t)500)
#define WORST ((size_t)5)

static void
put_node(FILE *to, const json_t *node)
{
  const json_t *first = json_object_get(node, "first");

  clarke_page_cell_of(to, node, "part");
  clarke_page_cell_of(to, node, "name");
  clarke_page_cell_of(to, node, "operator");
  clarke_page_cell_of(to, node, "answer");
  clarke_page_cell_of(to, node, "entries");
  clarke_page_cell_of(to, node, "worst");
  fputs("<td>", to);
  clarke_page_text(to, clarke_text_at(first, "index"));
  fputs(*clarke_text_at(first, "index") != '\0' ? " " : "", to);
  clarke_page_text(to, clarke_text_at(node, "why"));
  fputs("</td>", to);
}

static const char node_head[] = "part\tname\toperator\tanswer\tentries\terror / bound\twhy";

/* How many have each answer, in the order in which answers come. */
static void
put_totals(FILE *to, const json_t *list, const char *key)
{
  json_t *totals = json_object(), *count;
  const char *answer;

  for (size_t i = 0; i < json_array_size(list); i++) {
    answer = clarke_text_at(json_array_get(list, i), key);
    json_object_set_new(totals, answer, json_integer(json_integer_value(json_object_get(totals, answer)) + 1));
  }
  fputs("<dl>\n", to);
  json_object_foreach(totals, answer, count)
  {
    fputs("<dt>", to);
    clarke_page_text(to, answer);
    fputs("</dt><dd>", to);
    clarke_page_scalar(to, count);
    fputs("</dd>\n", to);
  }
  fputs("</dl>\n", to);
  json_decref(totals);
}

static double
share_of(const json_t *node)
{
  return json_number_value(json_object_get(node, "worst"));
}

static bool
is_bad(const json_t *node)
{
  return clarke_plain_certainty(clarke_text_at(node, "answer"))->tone != CLARKE_TONE_GOOD;
}

/* First what is no yes, then by how much of its bound an error takes. */
static int
compare(const void *a, const void *b)
{
  const json_t *one = *(const json_t *const *)a, *two = *(const json_t *const *)b;

  if (is_bad(one) != is_bad(two))
    return is_bad(one) ? -1 : 1;
  return share_of(one) > share_of(two) ? -1 : share_of(one) < share_of(two);
}

static void
put_worst(FILE *to, const json_t *nodes)
{
  const size_t n = json_array_size(nodes);
  const json_t **sorted = malloc((n + 1) * sizeof *sorted);
  json_t *worst = json_array();

  for (size_t i = 0; sorted != NULL && i < n; i++)
    sorted[i] = json_array_get(nodes, i);
  if (sorted != NULL)
    qsort(sorted, n, sizeof *sorted, compare);
  for (size_t i = 0; sorted != NULL && i < n && i < WORST; i++)
    json_array_append(worst, (json_t *)sorted[i]);
  clarke_page_section(to, "The worst");
  clarke_page_table(to, node_head, worst, WORST, put_node);
  clarke_page_section_end(to);
  json_decref(worst);
  free(sorted);
}

static void
put_parted(FILE *to, const json_t *p)
{
  clarke_page_cell_of(to, p, "node");
  clarke_page_cell_of(to, p, "index");
  clarke_page_cell_of(to, p, "sample");
  clarke_page_cell_of(to, p, "parting");
  clarke_page_cell_of(to, p, "same_gradient");
}

static void
put_pattern(FILE *to, const json_t *pattern)
{
  const size_t parted = clarke_count_at(pattern, "parted"), listed = clarke_count_at(pattern, "list");

  if (!json_is_object(pattern))
    return;
  clarke_page_section(to, "Where rounding took another side");
  clarke_markup(to, "<p>%zu of %zu kinks and windows part from exact arithmetic; of %zu it is not known.</p>\n", parted,
                clarke_count_at(pattern, "asked"), clarke_count_at(pattern, "doubtful"));
  if (listed > 0)
    clarke_page_table(to, "node\tentry\tsample\twhat parted\tsame gradient", json_object_get(pattern, "list"), MOST_ROWS,
                      put_parted);
  if (parted > listed)
    clarke_page_more(to, parted - listed); /* beyond what the answer lists */
  clarke_page_section_end(to);
}

static void
put_record(FILE *to, const json_t *answer)
{
  static const char *const keys[] = {"framework", "version", "device", "types", "step", "stopped"};

  clarke_page_section(to, "What was asked");
  fputs("<dl>\n", to);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    clarke_page_fact_of(to, keys[i], answer, keys[i]);
  fputs("</dl>\n", to);
  clarke_page_section_end(to);
}

static void
put_set(FILE *to, const json_t *set)
{
  static const char *const keys[] = {"file", "gpu",     "architecture", "instruction", "input",  "output",
                                     "k",    "results", "agree",        "rule",        "outcome"};

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    clarke_page_cell_of(to, set, keys[i]);
}

static void
put_named(FILE *to, const char *heading, const json_t *value)
{
  if (!json_is_object(value))
    return;
  clarke_page_section(to, heading);
  clarke_report_value(to, value, 1);
  clarke_page_section_end(to);
}

void
clarke_report_certify(FILE *to, const json_t *answer)
{
  const json_t *nodes = json_object_get(answer, "nodes"), *sets = json_object_get(answer, "sets"),
               *of = nodes != NULL ? nodes : sets;
  const char *said = clarke_text_at(answer, nodes != NULL ? "answer" : "verdict");
  const clarke_plain *plain = clarke_plain_certainty(said);

  char sentence[CLARKE_PAGE_SENTENCE];

  clarke_page_begin(to, "clarke certify", "", plain->tone, said, clarke_page_sentence(sentence, answer, plain->sentence),
                    clarke_text_at(answer, "stopped"));
  clarke_page_summary(to, answer);
  clarke_page_head_end(to);
  clarke_page_section(to, "Totals");
  clarke_markup(to, "<p>%zu %s.</p>\n", json_array_size(of), nodes != NULL ? "tensors" : "files of results");
  put_totals(to, of, nodes != NULL ? "answer" : "outcome");
  clarke_page_section_end(to);
  if (nodes != NULL)
    put_record(to, answer);
  if (json_array_size(nodes) > 0)
    put_worst(to, nodes);
  put_pattern(to, json_object_get(answer, "pattern"));
  put_named(to, "Beside the other record", json_object_get(answer, "against"));
  put_named(to, "AD's exact gradient", json_object_get(answer, "semantics"));
  clarke_page_section(to, nodes != NULL ? "All tensors" : "All files");
  if (nodes != NULL)
    clarke_page_table(to, node_head, nodes, MOST_ROWS, put_node);
  else
    clarke_page_table(to, "file\tGPU\tarchitecture\tinstruction\tinput\toutput\tK\tresults\tas the rule gives\trule\toutcome",
                      sets, MOST_ROWS, put_set);
  clarke_page_section_end(to);
}
