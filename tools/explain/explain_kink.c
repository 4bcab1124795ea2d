/* What frameworks take at the kinks of an operator, or among its equal entries. */
#include "explain_kink.h"

#include "profile_rows.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The operator's name in a row; the rest says which kink. */
static bool
is_of(const clarke_profile_row *row, const char *op)
{
  const bool tie = strncmp(row->about, "tie ", 4) == 0;
  const char *name = row->about + (tie ? 4 : 0);
  const size_t n = strcspn(name, " ");

  return strlen(op) == n && strncasecmp(name, op, n) == 0;
}

/* What a profile's file has, in words. */
static void
print_taken(const char *takes, bool tie)
{
  static const char *const said[][2] = {
    {"unknown", "what is not known"}, {"left", "the slope on the left"}, {"right", "the slope on the right"}, {"first", "the first"},
    {"last", "the last"}, {"stable", "the one that a stable sort puts there"}, {"mean", "their mean"}};

  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    if (strcmp(takes, said[i][0]) == 0) {
      fputs(said[i][1], stdout);
      return;
    }
  printf("%s%s", tie ? "" : "the slope ", takes);
}

/* "the slope 0 in pytorch-2.13, jax-0.10; the slope 1 in ...": one line of all profiles' rows of that number. */
static void
print_row(const clarke_profile_rows rows[CLARKE_N_PROFILES], size_t at)
{
  const clarke_profile_row *row = &rows[0].row[at];
  const bool tie = strncmp(row->about, "tie ", 4) == 0;
  bool told[CLARKE_N_PROFILES] = {false};
  const char *bare, *before = "";

  if (tie)
    printf("  among several equal entries AD takes ");
  else
    printf("  at its kink number %s (from 0, the leftmost) AD takes ", row->about + strcspn(row->about, " ") + 1);
  for (size_t i = 0; i < CLARKE_N_PROFILES; i++) {
    if (told[i])
      continue;
    fputs(before, stdout);
    print_taken(rows[i].row[at].takes, tie);
    printf(" in %s", clarke_profile_name((clarke_known_profile)i, &bare));
    for (size_t j = i + 1; j < CLARKE_N_PROFILES; j++)
      if (strcmp(rows[i].row[at].takes, rows[j].row[at].takes) == 0) {
        told[j] = true;
        printf(", %s", clarke_profile_name((clarke_known_profile)j, &bare));
      }
    before = "; ";
  }
  puts("");
}

static size_t
print_rows(const clarke_profile_rows rows[CLARKE_N_PROFILES], const char *op, bool first)
{
  size_t n = 0;

  for (size_t at = 0; at < rows[0].n; at++) {
    if (!is_of(&rows[0].row[at], op))
      continue;
    if (n++ == 0)
      printf("%s%.*s, an operator with kinks\n", first ? "" : "\n", (int)strlen(op),
             rows[0].row[at].about + (strncmp(rows[0].row[at].about, "tie ", 4) == 0 ? 4 : 0));
    print_row(rows, at);
  }
  return n;
}

clarke_status
clarke_explain_kink(bool *found, const char *op, bool first, clarke_error *err)
{
  clarke_profile_rows rows[CLARKE_N_PROFILES] = {{0}};
  clarke_status status = CLARKE_OK;
  const char *bare;

  for (size_t i = 0; status == CLARKE_OK && i < CLARKE_N_PROFILES; i++)
    status = clarke_profile_rows_read(&rows[i], clarke_profile_name((clarke_known_profile)i, &bare), err);
  *found = status == CLARKE_OK && print_rows(rows, op, first) > 0;
  for (size_t i = 0; i < CLARKE_N_PROFILES; i++)
    clarke_profile_rows_clear(&rows[i]);
  return status;
}
