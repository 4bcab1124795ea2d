/* The table of clarke reproduce (Markdown, its narrow columns aligned), and the same as JSON. */
#include "reproduce_report.h"
#include "session/json.h"
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
clarke_outcome_name(clarke_outcome outcome)
{
  static const char *const name[CLARKE_ROW_OUTCOMES] = {"agree", "in small", "paper wrong", "DISAGREE", "cannot check"};

  return name[outcome];
}

/* --- the table ------------------------------------------------------------------------------- */

/* A cell's text, with '|' kept from ending it; returns its width. */
static int
put_cell(const char *text)
{
  int width = 0;

  for (const char *p = text; *p != '\0'; p++) {
    if (*p == '|') {
      putchar('\\');
      width++;
    }
    putchar(*p);
    width++;
  }
  return width;
}

static void
put_padded(const char *text, int width)
{
  int n = put_cell(text);

  printf("%*s | ", n < width ? width - n : 0, "");
}

/* The other profile's lines that the first has not. */
static int
put_other(const clarke_check *check)
{
  int n = 0;

  for (const char *line = check->against; *line != '\0'; line += strcspn(line, "\n") + 1) {
    const size_t length = strcspn(line, "\n");
    const char *same = check->profile;

    while (*same != '\0' && (strcspn(same, "\n") != length || strncmp(same, line, length) != 0))
      same += strcspn(same, "\n") + 1;
    if (*same == '\0')
      n += printf(" [against %.*s]", (int)length, line);
  }
  return n;
}

/* The point; in brackets what is not as usual: inputs differentiated in, profile, proxies. */
static void
put_point(const clarke_check *check, int width)
{
  int n = put_cell(check->at);

  if (check->wrt != NULL)
    n += printf(" [wrt %s]", check->wrt);
  if (check->prices != NULL)
    n += printf(" [%s]", check->prices);
  if (check->against != NULL)
    n += put_other(check);
  for (const char *line = check->profile; *line != '\0'; line += strcspn(line, "\n") + 1) {
    int length = (int)strcspn(line, "\n");

    if (strncmp(line, "like pytorch-2.13\n", 18) != 0)
      n += printf(" [%.*s]", length, line);
  }
  printf("%*s | ", n < width ? width - n : 0, "");
}

static const clarke_facts *
facts_of(const clarke_table_row *row)
{
  return &row->c->facts[row->check->facts];
}

static void
put_claimed(const clarke_table_row *row)
{
  const clarke_facts *f = facts_of(row);

  for (size_t i = 0; i < f->n; i++) {
    fputs(i > 0 ? "; " : "", stdout);
    put_cell(f->fact[i].key);
    putchar(' ');
    put_cell(f->fact[i].claimed != NULL ? f->fact[i].claimed : f->fact[i].expect);
  }
}

/* What was computed; where it is not what the case says is true, that beside it. */
static void
put_computed(const clarke_table_row *row)
{
  const clarke_facts *f = facts_of(row);

  for (size_t i = 0; i < f->n; i++) {
    fputs(i > 0 ? "; " : "", stdout);
    put_cell(f->fact[i].key);
    putchar(' ');
    put_cell(row->computed[i]);
    if (!row->agrees[i]) {
      fputs(" (expected ", stdout);
      put_cell(f->fact[i].expect);
      putchar(')');
    }
  }
}

static int
longest_claim(const clarke_table *rows)
{
  int most = 5;

  for (size_t i = 0; i < rows->n; i++) {
    int n = (int)strlen(rows->row[i].claim->name);

    most = n > most ? n : most;
  }
  return most;
}

static void
put_row(const clarke_table_row *row, int claim_width)
{
  fputs("| ", stdout);
  put_padded(row->claim->name, claim_width);
  put_padded(clarke_outcome_name(row->outcome), 12);
  if (row->check != NULL) {
    put_point(row->check, 12);
    put_claimed(row);
  } else {
    put_padded("", 12);
    put_cell(row->claim->says);
  }
  fputs(" | ", stdout);
  if (row->check != NULL)
    put_computed(row);
  else
    put_cell(row->claim->cannot);
  fputs(" | ", stdout);
  put_cell(row->claim->where);
  if (row->claim->small != NULL) {
    fputs("; here: ", stdout);
    put_cell(row->claim->small);
  }
  puts(" |");
}

static clarke_status
tell_summary(const clarke_table *rows, size_t unread, clarke_error *err)
{
  const size_t wrong = rows->count[CLARKE_ROW_DISAGREES], papers = rows->count[CLARKE_ROW_PAPER_WRONG], cannot = rows->count[CLARKE_ROW_CANNOT];
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fputs("Do the papers' examples come out as they are printed? ", s.asked.to);
    clarke_put_count(s.asked.to, rows->n - cannot, "check");
    fputs(" of ", s.asked.to);
    clarke_put_count(s.asked.to, rows->n_claims, "claim");
    fputs(".", s.asked.to);
    fputs(wrong > 0 ? "No: " : unread > 0 ? "Not decided: " : "", s.answer.to);
    clarke_put_count(s.answer.to, rows->count[CLARKE_ROW_AGREES], "check");
    fprintf(s.answer.to, " %s (agree); %zu more do of smaller experiments (in small); in %zu the paper is wrong, as shown (paper wrong); %zu %s not what it must be (DISAGREE).",
            rows->count[CLARKE_ROW_AGREES] == 1 ? "does" : "do", rows->count[CLARKE_ROW_SMALL], papers, wrong, wrong == 1 ? "is" : "are");
    fputs(wrong > 0 ? "Look at the rows that DISAGREE." : unread > 0 ? "Some cases could not be read: the messages say why." : "Nothing needs doing.", s.next.to);
  }
  return clarke_summary_tell(&s, status, err);
}

clarke_status
clarke_table_print(const clarke_table *rows, size_t unread, clarke_error *err)
{
  const int width = longest_claim(rows);
  const clarke_status status = tell_summary(rows, unread, err);

  if (status != CLARKE_OK)
    return status;
  fputs("| ", stdout);
  put_padded("claim", width);
  put_padded("outcome", 12);
  put_padded("at", 12);
  puts("claimed | computed | where |");
  fputs("|-", stdout);
  for (int i = 0; i < width; i++)
    putchar('-');
  puts("-|--------------|--------------|---|---|---|");
  for (size_t i = 0; i < rows->n; i++)
    put_row(&rows->row[i], width);
  printf("\n%zu checks of %zu claims: %zu agree, %zu in small, the paper is wrong in %zu, %zu disagree; %zu "
         "claims cannot be checked on a program.\n", rows->n - rows->count[CLARKE_ROW_CANNOT],
         rows->n_claims, rows->count[CLARKE_ROW_AGREES], rows->count[CLARKE_ROW_SMALL], rows->count[CLARKE_ROW_PAPER_WRONG],
         rows->count[CLARKE_ROW_DISAGREES], rows->count[CLARKE_ROW_CANNOT]);
  return CLARKE_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *
facts_json(const clarke_table_row *row)
{
  const clarke_facts *f = facts_of(row);
  json_t *list = json_array();

  for (size_t i = 0; i < f->n; i++)
    json_array_append_new(list,
                          json_pack("{s:o, s:o, s:o, s:o, s:b}", "key", clarke_json_text(f->fact[i].key),
                                    "claimed", clarke_json_text(f->fact[i].claimed), "expected",
                                    clarke_json_text(f->fact[i].expect), "computed",
                                    clarke_json_text(row->computed[i]), "agrees", (int)row->agrees[i]));
  return list;
}

static json_t *
row_json(const clarke_table_row *row)
{
  const clarke_claim *claim = row->claim;
  const clarke_check *check = row->check;
  json_t *j = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:s}", "claim", clarke_json_text(claim->name),
                        "where", clarke_json_text(claim->where), "says", clarke_json_text(claim->says), "note",
                        clarke_json_text(claim->note), "file", clarke_json_text(row->c->name), "line",
                        (json_int_t)(check != NULL ? check->line : claim->line), "outcome",
                        clarke_outcome_name(row->outcome));

  if (j == NULL)
    return NULL;
  if (check == NULL) {
    json_object_set_new(j, "reason", clarke_json_text(claim->cannot));
    return j;
  }
  json_object_set_new(j, "at", clarke_json_text(check->at));
  json_object_set_new(j, "wrt", clarke_json_text(check->wrt));
  if (check->against != NULL)
    json_object_set_new(j, "against", clarke_json_text(check->against));
  if (claim->small != NULL)
    json_object_set_new(j, "small", clarke_json_text(claim->small));
  if (check->prices != NULL)
    json_object_set_new(j, "prices", clarke_json_text(check->prices));
  json_object_set_new(j, "profile", clarke_json_text(check->profile));
  json_object_set_new(j, "facts", facts_json(row));
  json_object_set_new(j, "proof", clarke_json_text(row->proof));
  return j;
}

clarke_status
clarke_table_print_json(const clarke_table *rows, clarke_error *err)
{
  json_t *list = json_array(), *j;

  for (size_t i = 0; i < rows->n; i++)
    json_array_append_new(list, row_json(&rows->row[i]));
  j = json_pack("{s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:o}", "summary", "checks",
                (json_int_t)(rows->n - rows->count[CLARKE_ROW_CANNOT]), "claims",
                (json_int_t)rows->n_claims, "agree", (json_int_t)rows->count[CLARKE_ROW_AGREES],
                "in_small", (json_int_t)rows->count[CLARKE_ROW_SMALL],
                "paper_wrong", (json_int_t)rows->count[CLARKE_ROW_PAPER_WRONG], "disagree",
                (json_int_t)rows->count[CLARKE_ROW_DISAGREES], "cannot_check",
                (json_int_t)rows->count[CLARKE_ROW_CANNOT], "rows", list);
  return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
}
