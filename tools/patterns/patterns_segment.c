/* The pieces of a function along a segment, and the integral of AD over them (patterns_regions.h). */
#include <stdio.h> /* before flint.h */

#include "patterns_regions.h"
#include "check_needs.h"
#include "base/stop.h"
#include "patterns_list.h"
#include "patterns_text.h"
#include "session/grid.h"
#include "session/segment.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

static void
put_vector(FILE *to, mpq_t *q, size_t n, bool json)
{
  fputs(json ? "[" : "", to);
  clarke_patterns_put_row(to, q, n, json);
  fputs(json ? "]" : "", to);
}

static bool
go_on(size_t pieces)
{
  clarke_work_done();
  return clarke_patterns_below_limit(pieces);
}

static void
put_pieces(FILE *to, const clarke_segment *s)
{
  for (size_t k = 0; k < s->n; k++) {
    fputs("from ", to);
    clarke_patterns_put_rational(to, s->piece[k].from, false);
    fputs(" to ", to);
    clarke_patterns_put_rational(to, s->piece[k].to, false);
    fputs(s->integral != NULL ? "  <B - A, AD> = " : "  slope ", to);
    put_vector(to, s->piece[k].slope, s->n_outputs, false);
    putc('\n', to);
  }
}

static void
put_answer(FILE *to, const clarke_segment *s)
{
  if (s->integral == NULL) {
    clarke_patterns_put_begun(to, false);
    clarke_put_count(to, s->n, "piece");
    fputs(".", to);
    return;
  }
  fputs(s->agree ? "Yes: over " : "No: over ", to);
  clarke_put_count(to, s->n, "piece");
  fputs(" AD's slope adds up to ", to);
  put_vector(to, s->integral, s->n_outputs, false);
  fputs(s->agree ? ", and that is f(B) - f(A)." : ", but f(B) - f(A) is ", to);
  if (!s->agree) {
    put_vector(to, s->difference, s->n_outputs, false);
    fputs(".", to);
  }
}

static clarke_status
tell(const clarke_segment *s, const clarke_region_function *f, const clarke_regions_command *c, const clarke_profile *profile, clarke_error *err)
{
  const clarke_patterns_list list = {.count = c->count};
  clarke_summary lines = {0};
  clarke_status status = clarke_summary_begin(&lines, err);

  if (status != CLARKE_OK)
    return status;
  fputs("From A to B, does AD's slope add up to what the function grows by? AD as ", lines.asked.to);
  fputs(profile->name, lines.asked.to);
  fputs("; ", lines.asked.to);
  clarke_patterns_put_file(lines.asked.to, c->model, f->sha256);
  put_answer(lines.answer.to, s);
  clarke_patterns_put_next(&list, lines.next.to, s->integral != NULL ? NULL : clarke_regions_why(&s->regions), "a piece: where it begins and ends, and AD's slope on it",
                           s->integral != NULL && s->agree ? c->proof : NULL);
  return clarke_summary_tell(&lines, status, err);
}

static void
print_text(const clarke_segment *s, bool count)
{
  if (!count)
    put_pieces(stdout, s);
  if (s->integral == NULL) {
    printf("%s%zu piece%s; undecided: %s\n", s->regions.complete ? "" : "at least ", s->n, s->n == 1 ? "" : "s",
           clarke_regions_why(&s->regions));
    return;
  }
  if (count) {
    printf("%zu\n", s->n);
    return;
  }
  printf("%zu piece%s. The integral of <B - A, AD> is ", s->n, s->n == 1 ? "" : "s");
  put_vector(stdout, s->integral, s->n_outputs, false);
  fputs(s->agree ? ", and so is f(B) - f(A)" : ", but f(B) - f(A) is ", stdout);
  if (!s->agree)
    put_vector(stdout, s->difference, s->n_outputs, false);
  putchar('\n');
}

static clarke_status
put_keys(clarke_patterns_list *list, const clarke_segment *s, const clarke_grid *g, const char *format, clarke_error *err)
{
  if (clarke_patterns_list_keys(list, s->n > 0, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  if (s->integral != NULL)
    printf("\"agree\": %s, ", s->agree ? "true" : "false");
  printf("\"count\": \"%zu\", \"complete\": %s", s->n, s->regions.complete ? "true" : "false");
  if (s->integral != NULL) {
    fputs(", \"integral\": ", stdout);
    put_vector(stdout, s->integral, s->n_outputs, true);
    fputs(", \"difference\": ", stdout);
    put_vector(stdout, s->difference, s->n_outputs, true);
  }
  if (g != NULL)
    clarke_patterns_put_grid_key(g, format);
  return clarke_patterns_list_end(list, s->n > 0, s->regions.stopped, err);
}

static clarke_status
print_json(const clarke_segment *s, bool count, const clarke_grid *g, const char *format, clarke_error *err)
{
  clarke_patterns_list list = {true, count, false, "pieces", NULL};
  clarke_status status = clarke_patterns_list_begin(&list, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k < s->n && !count; k++) {
    fputs(k > 0 ? ",\n  {\"from\": " : "\n  {\"from\": ", list.to);
    clarke_patterns_put_rational(list.to, s->piece[k].from, true);
    fputs(", \"to\": ", list.to);
    clarke_patterns_put_rational(list.to, s->piece[k].to, true);
    fputs(", \"slope\": ", list.to);
    put_vector(list.to, s->piece[k].slope, s->n_outputs, true);
    putc('}', list.to);
  }
  status = put_keys(&list, s, g, format, err);
  clarke_patterns_list_clear(&list);
  return status;
}

/* One end: of what varies, and else of the point. Of a network's parameters it may be `stored`. */
static clarke_status
read_end(mpq_t **end, const char *text, const clarke_region_function *f, mpq_t *point, clarke_error *err)
{
  const size_t n = f->wrt != NULL ? clarke_code_wrt_count(&f->program) : f->n;
  mpq_t *given = NULL;
  clarke_status status;

  if (f->network && f->wrt != NULL && strcmp(text, "stored") == 0)
    return clarke_region_function_spread(end, f, point, point + f->n_given, err);
  if (f->wrt == NULL)
    return clarke_region_point(end, text, n, "--line", err);
  status = clarke_region_point(&given, text, n, "--line", err);
  if (status == CLARKE_OK)
    status = clarke_region_function_spread(end, f, point, given, err);
  clarke_rationals_free(given, given != NULL ? n : 0);
  return status;
}

/* Both ends, which must differ. */
static clarke_status
read_ends(mpq_t **from, mpq_t **to, const clarke_regions_command *c, clarke_region_function *f, clarke_error *err)
{
  bool same = true;
  mpq_t *point = NULL;
  clarke_status status = c->at != NULL ? clarke_region_point(&point, c->at, f->n_given, "--at", err) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = clarke_region_function_hold(f, &point, err);
  if (status == CLARKE_OK)
    status = read_end(from, c->from, f, point, err);
  if (status == CLARKE_OK)
    status = read_end(to, c->to, f, point, err);
  for (size_t i = 0; i < f->n && status == CLARKE_OK; i++)
    same = same && mpq_equal((*from)[i], (*to)[i]);
  if (status == CLARKE_OK && same)
    status = clarke_fail(err, CLARKE_EINPUT, "--line: both ends are one point");
  clarke_rationals_free(point, point != NULL ? f->n : 0);
  return status;
}

/* Only of pieces that are all known, with an integral that is the difference. */
static clarke_status
prove(const clarke_segment *s, const clarke_region_function *f, const clarke_regions_command *c, mpq_t *from, mpq_t *to, clarke_error *err)
{
  clarke_check_needs needs;
  clarke_status status;

  if (s->integral == NULL || !s->agree) {
    fputs("clarke patterns: no proof is written of a list that is not complete, or of an integral that is another\n", stderr);
    return CLARKE_OK;
  }
  status = clarke_segment_prove(s, f, c->model, from, to, c->proof, err);
  if (status != CLARKE_OK)
    return status;
  clarke_check_needs_read(&needs, c->proof, &c->model, 1);
  clarke_check_needs_forms(&needs, &f->program, 1, !f->network);
  clarke_say_check_needs("patterns", &needs);
  return CLARKE_OK;
}

/* The error of what is not piecewise linear says what would be. */
static clarke_status
find(clarke_segment *s, clarke_region_function *f, const clarke_regions_command *c, mpq_t *from, mpq_t *to, const clarke_profile *profile,
     clarke_error *err)
{
  const clarke_status status = clarke_segment_find(s, f, from, to, profile, go_on, err);
  const clarke_error why = *err;

  if (status != CLARKE_EINPUT || c->wrt == NULL || s->n > 0)
    return status;
  return clarke_fail(err, CLARKE_EINPUT, "%s. Along a segment only what is not multiplied may vary together, as a weight or a bias of one "
                     "layer (--wrt NAME)", why.text);
}

static clarke_status
count_grid(clarke_grid *g, const clarke_regions_command *c, const clarke_region_function *f, mpq_t *from, mpq_t *to, clarke_error *err)
{
  clarke_ieee format;
  const clarke_status status = clarke_ieee_parse(&format, c->grid, err);

  return status == CLARKE_OK ? clarke_grid_find(g, f, from, to, format, err) : status;
}

static clarke_status
put_all(const clarke_segment *s, const clarke_grid *g, const clarke_region_function *f, const clarke_regions_command *c, const clarke_profile *profile,
        clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (c->json)
    return print_json(s, c->count, g, c->grid, err);
  if (!c->count)
    status = tell(s, f, c, profile, err);
  print_text(s, c->count);
  if (g != NULL)
    clarke_patterns_put_grid(g, c->grid, false);
  return status;
}

clarke_status
clarke_segment_answer(bool *complete, bool *holds, const clarke_regions_command *c, clarke_error *err)
{
  clarke_region_function f;
  clarke_profile profile;
  clarke_segment s = {0};
  clarke_grid grid;
  mpq_t *from = NULL, *to = NULL;
  clarke_status status;

  clarke_grid_init(&grid);
  clarke_region_function_init(&f);
  f.wrt = c->wrt;
  f.output = c->output;
  clarke_profile_init(&profile);
  status = clarke_profile_load(&profile, c->profile, err);
  if (status == CLARKE_OK)
    status = clarke_region_function_open(&f, c->model, err);
  if (status == CLARKE_OK && c->proof != NULL)
    status = clarke_region_function_may_prove(&f, c->model, err);
  if (status == CLARKE_OK)
    status = read_ends(&from, &to, c, &f, err);
  clarke_work_begin("pieces found", 0);
  if (status == CLARKE_OK)
    status = find(&s, &f, c, from, to, &profile, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && c->proof != NULL)
    status = prove(&s, &f, c, from, to, err);
  if (status == CLARKE_OK && c->grid != NULL)
    status = count_grid(&grid, c, &f, from, to, err);
  if (status == CLARKE_OK)
    status = put_all(&s, c->grid != NULL ? &grid : NULL, &f, c, &profile, err);
  *complete = s.integral != NULL;
  *holds = s.agree;
  clarke_rationals_free(from, from != NULL ? f.n : 0);
  clarke_rationals_free(to, to != NULL ? f.n : 0);
  clarke_grid_clear(&grid);
  clarke_segment_clear(&s);
  clarke_profile_clear(&profile);
  clarke_region_function_clear(&f);
  return status;
}
