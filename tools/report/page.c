#include "page.h"

#include "markup.h"
#include "object.h"

#include <string.h>

#define MOST_TEXT ((size_t)400) /* bytes of one text */
#define BAR 200                 /* its width */

static const char *const tones[] = {"good", "note", "open", "bad"};
static const char *const marks[] = {"&#10003;", "&#8776;", "?", "&#10007;"};
static const char *const fills[] = {"#1a7f4b", "#2b6cb0", "#b7791f", "#c0392b"};

/* Nothing here is fetched from anywhere, and nothing runs. */
static const char style[] =
    "<style>\n"
    ":root{--ink:#1c2024;--soft:#5b6570;--line:#d7dce1;--paper:#fff;--good:#1a7f4b;--note:#2b6cb0;--open:#975a16;--bad:#b42318}"
    "\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a3adb8;--line:#3a424a;--paper:#16191c;--good:#4fc38a;--note:#"
    "7ab3f0;--open:#e0aa4d;"
    "--bad:#f2796b}}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "main{max-width:60rem;margin:auto;padding:1rem}\n"
    "header{border-left:.5rem solid;padding:.25rem 0 .25rem 1rem;margin:1rem 0}\n"
    "header.good,.good{color:var(--good)}header.note,.note{color:var(--note)}header.open,.open{color:var(--open)}header.bad,."
    "bad{color:var(--bad)}\n"
    "header p,header dl{color:var(--ink)}header dl{margin:.5rem 0}header .word{color:inherit}h1{font-size:1.5rem;margin:.25rem "
    "0}h2{font-size:1.15rem;border-bottom:1px solid var(--line);margin:2rem 0 .5rem}h3{font-size:1rem;margin:.75rem 0 0}\n"
    ".word{font-weight:700;margin:0}.why,.more,footer,small{color:var(--soft)}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem "
    "1rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;display:block;overflow-x:auto}th,td{text-align:left;padding:.15rem .75rem .15rem "
    "0;border-bottom:1px solid var(--line);"
    "vertical-align:top;overflow-wrap:break-word}\n"
    "ol.layers{list-style:none;padding:0}ol.layers li{border-left:2px solid var(--line);padding-left:1rem}.layers "
    "p{margin:0}svg{vertical-align:middle}\n"
    ".pictures{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0}figcaption{color:var(--soft)}\n"
    "pre,code{font:14px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "@media (max-width:32rem){dl{display:block}dd{margin-bottom:.4rem}dd dl{border-left:2px solid var(--line);padding-left:.75rem}}\n"
    "@media print{body{font-size:10pt}main{max-width:none;padding:0}h2,h3,thead{break-after:avoid}header,tr,li,figure,dt{break-inside:avoid}"
    "table{display:table}}\n"
    "</style>\n";

void
clarke_page_begin(FILE *to, const char *command, const char *about, clarke_tone tone, const char *word, const char *sentence,
                  const char *why)
{
  char short_about[128];

  clarke_markup(to,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s%s",
                command, *about != '\0' ? ": " : "");
  snprintf(short_about, sizeof short_about, "%s", about); /* no element may stand in a title: clarke_page_text's */
  clarke_markup(to, "%s</title>\n", short_about);
  fputs(style, to);
  fprintf(to, "</head>\n<body>\n<main>\n<header class=\"%s\">\n<p class=\"word\">%s ", tones[tone], marks[tone]);
  clarke_page_text(to, word);
  clarke_markup(to, "</p>\n<h1>%s.</h1>\n", sentence);
  if (*why != '\0') {
    fputs("<p class=\"why\">", to);
    clarke_page_text(to, why);
    fputs(".</p>\n", to);
  }
}

void
clarke_page_head_end(FILE *to)
{
  fputs("</header>\n", to);
}

void
clarke_page_end(FILE *to)
{
  fputs("</main>\n</body>\n</html>\n", to);
}

void
clarke_page_section(FILE *to, const char *heading)
{
  clarke_markup(to, "<section>\n<h2>%s</h2>\n", heading);
}

void
clarke_page_section_end(FILE *to)
{
  fputs("</section>\n", to);
}

/* --- texts ------------------------------------------------------------------------------------ */

void
clarke_page_text(FILE *to, const char *text)
{
  const size_t n = strlen(text);
  char part[MOST_TEXT + 1];
  size_t shown = n <= MOST_TEXT ? n : MOST_TEXT - 40;

  while (shown < n && shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80) /* in the middle of a character */
    shown--;
  memcpy(part, text, shown);
  part[shown] = '\0';
  clarke_markup_text(to, part);
  if (shown < n)
    clarke_markup(to, " <small>... %zu more bytes</small>", n - shown);
}

void
clarke_page_scalar(FILE *to, const json_t *value)
{
  if (json_is_string(value))
    clarke_page_text(to, json_string_value(value));
  else if (json_is_integer(value))
    fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else if (json_is_real(value))
    fprintf(to, "%.6g", json_real_value(value));
  else
    fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-", to);
}

void
clarke_page_fact(FILE *to, const char *name, const char *text)
{
  clarke_markup(to, "<dt>%s</dt><dd>", name);
  clarke_page_text(to, text);
  fputs("</dd>\n", to);
}

void
clarke_page_fact_of(FILE *to, const char *name, const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);

  if (value == NULL)
    return;
  clarke_markup(to, "<dt>%s</dt><dd>", name);
  clarke_page_scalar(to, value);
  fputs("</dd>\n", to);
}

/* Up to the field's word in brackets; 0: the answer does not begin so. */
static size_t
sentence_length(const char *answer)
{
  const char *bracket = strstr(answer, " ("), *end = bracket != NULL ? strchr(bracket, ')') : NULL;

  if (end == NULL || end[1] != '.' || (end[2] != ' ' && end[2] != '\0') || strcspn(answer, ".") < (size_t)(bracket - answer))
    return 0;
  return (size_t)(bracket - answer);
}

static const char *
answer_of(const json_t *answer)
{
  return clarke_text_at(json_object_get(answer, "summary"), "answer");
}

const char *
clarke_page_sentence(char text[CLARKE_PAGE_SENTENCE], const json_t *answer, const char *sentence)
{
  const size_t n = sentence_length(answer_of(answer));

  if (n == 0 || n >= CLARKE_PAGE_SENTENCE)
    return sentence;
  memcpy(text, answer_of(answer), n);
  text[n] = '\0';
  return text;
}

void
clarke_page_summary(FILE *to, const json_t *answer)
{
  const json_t *summary = json_object_get(answer, "summary");
  const char *said = answer_of(answer), *rest = said + sentence_length(said);

  if (!json_is_object(summary))
    return;
  if (rest > said)
    rest = strchr(rest, ')') + 2; /* behind the word in brackets and its full stop */
  while (*rest == ' ')
    rest++;
  fputs("<dl>\n", to);
  clarke_page_fact_of(to, "asked", summary, "asked");
  if (*rest != '\0')
    clarke_page_fact(to, "answer", rest);
  clarke_page_fact_of(to, "what to do", summary, "next");
  fputs("</dl>\n", to);
}

void
clarke_page_why(FILE *to, const char *why)
{
  if (*why == '\0')
    return;
  clarke_page_section(to, "Why, in the field's words");
  fputs("<p>", to);
  clarke_page_text(to, why);
  fputs(".</p>\n", to);
  clarke_page_section_end(to);
}

/* --- lists ------------------------------------------------------------------------------------ */

bool
clarke_page_goes_on(FILE *to, size_t i, size_t most)
{
  const long at = ftell(to);

  return i < most && at >= 0 && at < CLARKE_PAGE_FULL;
}

void
clarke_page_more(FILE *to, size_t n)
{
  if (n > 0)
    clarke_markup(to, "<p class=\"more\">%zu more</p>\n", n);
}

static void
put_head(FILE *to, const char *head)
{
  fputs("<thead><tr>", to);
  while (*head != '\0') {
    const size_t n = strcspn(head, "\t");

    fprintf(to, "<th>%.*s</th>", (int)n, head);
    head += n + (head[n] != '\0');
  }
  fputs("</tr></thead>\n", to);
}

void
clarke_page_table(FILE *to, const char *head, const json_t *list, size_t most, clarke_page_row *row)
{
  const size_t n = json_array_size(list);
  size_t i = 0;

  fputs("<table>", to);
  put_head(to, head);
  fputs("<tbody>\n", to);
  for (; i < n && clarke_page_goes_on(to, i, most); i++) {
    fputs("<tr>", to);
    row(to, json_array_get(list, i));
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table>\n", to);
  clarke_page_more(to, n - i);
}

void
clarke_page_cell(FILE *to, const char *text)
{
  fputs("<td>", to);
  clarke_page_text(to, text);
  fputs("</td>", to);
}

void
clarke_page_cell_of(FILE *to, const json_t *object, const char *key)
{
  fputs("<td>", to);
  clarke_page_scalar(to, json_object_get(object, key));
  fputs("</td>", to);
}

void
clarke_page_bar(FILE *to, const char *name, double share, clarke_tone tone)
{
  const int filled = share > 1 ? BAR : (int)(share * BAR), shown = share > 0 && filled < 2 ? 2 : filled;

  clarke_markup(to,
                "<svg role=\"img\" aria-label=\"%s\" width=\"%d\" height=\"10\" viewBox=\"0 0 %d 10\"><rect width=\"%d\" "
                "height=\"10\" fill=\"#8886\"/>",
                name, BAR, BAR, BAR);
  fprintf(to, "<rect width=\"%d\" height=\"10\" fill=\"%s\"/></svg>", shown, fills[tone]);
}
