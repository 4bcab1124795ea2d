#include "reproduce_line.h"

#include <stdlib.h>
#include <string.h>

bool
clarke_line_key_known(const char *key)
{
  return strcmp(key, "pieces") == 0 || strcmp(key, "integral") == 0 || strcmp(key, "difference") == 0;
}

/* Numbers alone: of another text a file of that name would be read. */
static clarke_status
read_end(mpq_t **end, const clarke_run *r, const char *text, clarke_error *err)
{
  if (text == NULL || text[strspn(text, "0123456789+-./,eE")] != '\0' || strpbrk(text, "0123456789") == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "expected two points: numbers with commas between");
  return clarke_region_point(end, text, r->line->f.n, "line", err);
}

static bool
ends_are_one(const clarke_line *l)
{
  bool one = true;

  for (size_t i = 0; i < l->f.n; i++)
    one = one && mpq_equal(l->from[i], l->to[i]);
  return one;
}

static clarke_status
read_ends(clarke_run *r, clarke_error *err)
{
  clarke_words w;
  clarke_status status = clarke_words_cut(&w, r->check->at, err);

  if (status == CLARKE_OK)
    status = read_end(&r->line->from, r, w.word[0], err);
  if (status == CLARKE_OK)
    status = read_end(&r->line->to, r, w.word[1], err);
  if (status == CLARKE_OK && w.n > 2)
    status = clarke_fail(err, CLARKE_EINPUT, "expected two points: numbers with commas between");
  clarke_words_clear(&w);
  return status == CLARKE_OK && ends_are_one(r->line) ? clarke_fail(err, CLARKE_EINPUT, "both ends are one point") : status;
}

static clarke_status
hold_nothing(clarke_line *l, clarke_error *err)
{
  mpq_t *point = NULL;

  return clarke_region_function_hold(&l->f, &point, err);
}

clarke_status
clarke_run_line(clarke_run *r, clarke_error *err)
{
  clarke_status status;

  r->line = calloc(1, sizeof *r->line);
  if (r->line == NULL)
    return clarke_no_memory(err);
  clarke_region_function_init(&r->line->f);
  status = clarke_profile_parse(&r->profile, r->check->profile, strlen(r->check->profile), "case", err);
  if (status == CLARKE_OK)
    status = clarke_profile_check_plain(&r->profile, err);
  if (status == CLARKE_OK)
    status = clarke_region_function_open(&r->line->f, r->c->path, err);
  if (status == CLARKE_OK)
    status = hold_nothing(r->line, err);
  if (status == CLARKE_OK)
    status = read_ends(r, err);
  if (status == CLARKE_OK)
    status = clarke_segment_find(&r->line->segment, &r->line->f, r->line->from, r->line->to, &r->profile, NULL, err);
  return status;
}

void
clarke_run_line_clear(clarke_run *r)
{
  clarke_line *l = r->line;

  if (l == NULL)
    return;
  clarke_segment_clear(&l->segment);
  clarke_rationals_free(l->from, l->from != NULL ? l->f.n : 0);
  clarke_rationals_free(l->to, l->to != NULL ? l->f.n : 0);
  clarke_region_function_clear(&l->f);
  free(l);
  r->line = NULL;
}

clarke_status
clarke_line_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  const clarke_segment *s = &r->line->segment;

  if (s->integral == NULL)
    return clarke_result_word(result, "unknown", err);
  if (strcmp(key, "pieces") != 0)
    return clarke_result_rationals(result, strcmp(key, "integral") == 0 ? s->integral : s->difference, s->n_outputs, 0, err);
  return clarke_result_count(result, s->n, err);
}

bool
clarke_line_holds(const clarke_run *r)
{
  return r->line->segment.integral != NULL && r->line->segment.agree;
}

clarke_status
clarke_line_prove(const clarke_run *r, const char *path, clarke_error *err)
{
  return clarke_segment_prove(&r->line->segment, &r->line->f, r->c->path, r->line->from, r->line->to, path, err);
}
