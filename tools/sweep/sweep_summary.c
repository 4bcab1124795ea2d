#include "sweep_summary.h"

#include "object.h"
#include "session/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of wrong answers that the limits allow. */
#define ALPHA 0.05

typedef enum { LABEL_ZERO, LABEL_ROUNDING, LABEL_BRANCH, LABEL_BIFURCATION, LABEL_UNKNOWN, N_LABELS } label;

static const char *const label_names[] = {"zero", "rounding", "branch", "bifurcation", "unknown"};

typedef struct {
  const char *weights; /* which: the text of its hash, or seed */
  bool beyond;
} place;

/* Of a pair of profiles in a format. */
typedef struct {
  const char *profile[2], *format;
  size_t n, infinite, count[N_LABELS], beyond;
  double *d;        /* those that are finite: n - infinite */
  double rounding;  /* the largest where the exact difference is 0; negative: it nowhere is */
  double least;     /* the smallest where the exact difference is not 0: floats may lose it, and then it is 0 */
  place *place;     /* n */
} group;

typedef struct {
  size_t n_lines, n_groups, batches;
  json_t **line;
  char **weights;
  group *group;
  double tau;
} summary;

static int
compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static int
compare_places(const void *a, const void *b)
{
  return strcmp(((const place *)a)->weights, ((const place *)b)->weights);
}

/* --- gathering --------------------------------------------------------------------------------- */

static group *
group_of(summary *s, const char *p, const char *q, const char *format)
{
  for (size_t i = 0; i < s->n_groups; i++) {
    group *g = &s->group[i];

    if (strcmp(g->profile[0], p) == 0 && strcmp(g->profile[1], q) == 0 && strcmp(g->format, format) == 0)
      return g;
  }
  return NULL;
}

static clarke_status
add_group(summary *s, const char *p, const char *q, const char *format, clarke_error *err)
{
  group *grown = realloc(s->group, (s->n_groups + 1) * sizeof *grown), *g;

  if (grown == NULL)
    return clarke_no_memory(err);
  s->group = grown;
  g = &grown[s->n_groups++];
  *g = (group){.profile = {p, q}, .format = format, .rounding = -1, .least = INFINITY};
  g->d = calloc(s->n_lines + 1, sizeof *g->d);
  g->place = calloc(s->n_lines + 1, sizeof *g->place);
  return g->d != NULL && g->place != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
add_groups(summary *s, const json_t *head, clarke_error *err)
{
  const json_t *profiles = json_object_get(head, "profiles"), *formats = json_object_get(head, "formats");
  clarke_status status = CLARKE_OK;

  for (size_t b = 0; b < json_array_size(profiles); b++)
    for (size_t a = 0; a < b; a++)
      for (size_t f = 0; f < json_array_size(formats) && status == CLARKE_OK; f++) {
        const char *p = json_string_value(json_array_get(profiles, a)), *q = json_string_value(json_array_get(profiles, b));
        const char *format = json_string_value(json_array_get(formats, f));

        status = p != NULL && q != NULL && format != NULL ? add_group(s, p, q, format, err)
                                                          : clarke_fail(err, CLARKE_EINPUT, "the first line's profiles and formats are no texts");
      }
  return status;
}

static label
label_of(const json_t *floats, double d)
{
  const char *text = clarke_text_at(floats, "label");

  if (d == 0)
    return LABEL_ZERO;
  for (label i = LABEL_ROUNDING; i <= LABEL_BIFURCATION; i++)
    if (strcmp(text, label_names[i]) == 0)
      return i;
  return LABEL_UNKNOWN;
}

static void
take_floats(group *g, const json_t *floats, const json_t *exactly_zero, const char *weights, double tau)
{
  const bool finite = json_is_true(json_object_get(floats, "finite")) && json_is_number(json_object_get(floats, "l1_float"));
  const double d = finite ? json_number_value(json_object_get(floats, "l1_float")) : INFINITY;
  const label kind = finite ? label_of(floats, d) : LABEL_UNKNOWN;

  g->place[g->n++] = (place){.weights = weights, .beyond = d > tau};
  g->beyond += d > tau;
  g->count[kind]++;
  if (!finite)
    g->infinite++;
  else
    g->d[g->n - 1 - g->infinite] = d;
  if (finite && json_is_true(exactly_zero))
    g->rounding = fmax(g->rounding, d);
  if (finite && json_is_false(exactly_zero))
    g->least = fmin(g->least, d);
}

static void
take_line(summary *s, size_t at)
{
  const json_t *pairs = json_object_get(s->line[at], "pairs");

  for (size_t i = 0; i < json_array_size(pairs); i++) {
    const json_t *pair = json_array_get(pairs, i), *names = json_object_get(pair, "profiles");
    const char *p = json_string_value(json_array_get(names, 0)), *q = json_string_value(json_array_get(names, 1)), *format;
    json_t *floats;

    json_object_foreach(json_object_get(pair, "floats"), format, floats) {
      group *g = p != NULL && q != NULL ? group_of(s, p, q, format) : NULL;

      if (g != NULL && g->n < s->n_lines)
        take_floats(g, floats, json_object_get(json_object_get(pair, "exact"), "zero"), s->weights[at], s->tau);
    }
  }
}

static clarke_status
read_lines(summary *s, const clarke_lines *r, clarke_error *err)
{
  s->line = calloc(r->n + 1, sizeof *s->line);
  s->weights = calloc(r->n + 1, sizeof *s->weights);
  if (s->line == NULL || s->weights == NULL)
    return clarke_no_memory(err);
  for (; s->n_lines < r->n; s->n_lines++) {
    s->line[s->n_lines] = json_loads(r->line[s->n_lines].text, 0, NULL);
    s->weights[s->n_lines] = json_dumps(json_object_get(s->line[s->n_lines], "weights"), JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    if (s->line[s->n_lines] == NULL || s->weights[s->n_lines] == NULL)
      return clarke_no_memory(err);
  }
  return CLARKE_OK;
}

/* --- what is said ------------------------------------------------------------------------------- */

/* How many sets of weights there are; of how many some minibatch is beyond tau; of the first how many minibatches. */
static size_t
count_weights(size_t *beyond, group *g)
{
  size_t n = 0;

  *beyond = 0;
  qsort(g->place, g->n, sizeof *g->place, compare_places);
  for (size_t i = 0; i < g->n; n++) {
    const size_t first = i;
    bool any = false;

    for (; i < g->n && compare_places(&g->place[first], &g->place[i]) == 0; i++)
      any = any || g->place[i].beyond;
    *beyond += any;
  }
  return n;
}

/* Hoeffding's for the share of M sets of weights; McDiarmid's for that of M x R pairs, each of which two drawings change. */
static double
hoeffding(size_t m)
{
  return sqrt(log(2 / ALPHA) / (2 * (double)m));
}

static double
mcdiarmid(size_t m, size_t r)
{
  return sqrt((1 / (double)m + 1 / (double)r) * log(2 / ALPHA) / 2);
}

static json_t *
group_json(group *g)
{
  const size_t finite = g->n - g->infinite;
  size_t any, m = count_weights(&any, g), r = m > 0 ? g->n / m : 0;
  json_t *j = json_pack("{s:[s,s], s:s, s:I}", "profiles", g->profile[0], g->profile[1], "format", g->format, "n", (json_int_t)g->n);

  qsort(g->d, finite, sizeof *g->d, compare_doubles);
  for (label i = 0; i < N_LABELS; i++)
    clarke_json_set(&j, label_names[i], json_integer((json_int_t)g->count[i]));
  if (finite > 0) {
    clarke_json_set(&j, "least", json_real(g->d[0]));
    clarke_json_set(&j, "median", json_real(g->d[(finite - 1) / 2]));
    clarke_json_set(&j, "greatest", json_real(g->d[finite - 1]));
  }
  clarke_json_set(&j, "greatest_where_exactly_0", g->rounding >= 0 ? json_real(g->rounding) : json_null());
  clarke_json_set(&j, "least_of_a_bifurcation", isfinite(g->least) ? json_real(g->least) : json_null());
  if (m > 0) {
    clarke_json_set(&j, "weights_beyond_tau", json_pack("{s:I, s:I, s:f}", "n", (json_int_t)any, "of", (json_int_t)m, "within", hoeffding(m)));
    clarke_json_set(&j, "jobs_beyond_tau", json_pack("{s:I, s:I, s:f}", "n", (json_int_t)g->beyond, "of", (json_int_t)g->n, "within", mcdiarmid(m, r)));
  }
  return j;
}

static void
print_group(const json_t *j, double tau)
{
  const json_t *weights = json_object_get(j, "weights_beyond_tau"), *jobs = json_object_get(j, "jobs_beyond_tau");
  const json_t *names = json_object_get(j, "profiles"), *least = json_object_get(j, "least_of_a_bifurcation");
  const json_t *rounding = json_object_get(j, "greatest_where_exactly_0");

  printf("\n%s against %s, %s\n", json_string_value(json_array_get(names, 0)), json_string_value(json_array_get(names, 1)),
         clarke_text_at(j, "format"));
  printf("  D = 0: %zu; rounding: %zu; a branch that floats alone take: %zu; a real bifurcation: %zu; not known: %zu\n", clarke_count_at(j, "zero"),
         clarke_count_at(j, "rounding"), clarke_count_at(j, "branch"), clarke_count_at(j, "bifurcation"), clarke_count_at(j, "unknown"));
  if (json_object_get(j, "median") != NULL)
    printf("  least %.3g, median %.3g, greatest %.3g\n", json_number_value(json_object_get(j, "least")),
           json_number_value(json_object_get(j, "median")), json_number_value(json_object_get(j, "greatest")));
  if (!json_is_null(rounding))
    printf("  where the exact difference is 0, at most %.3g\n", json_number_value(rounding));
  if (!json_is_null(least))
    printf("  where the exact difference is not 0 (a real bifurcation), at least %.3g\n", json_number_value(least));
  if (weights != NULL)
    printf("  beyond %.3g: %zu of %zu weights (Hoeffding: within %.3g), %zu of %zu jobs (McDiarmid: within %.3g)\n", tau,
           clarke_count_at(weights, "n"), clarke_count_at(weights, "of"), json_number_value(json_object_get(weights, "within")),
           clarke_count_at(jobs, "n"), clarke_count_at(jobs, "of"), json_number_value(json_object_get(jobs, "within")));
}

static clarke_status
tell(summary *s, const json_t *head, size_t missing, bool json, clarke_error *err)
{
  json_t *groups = json_array(), *one, *answer;
  size_t i;

  for (i = 0; i < s->n_groups; i++)
    clarke_json_append(&groups, group_json(&s->group[i]));
  answer = json_pack("{s:I, s:I, s:f, s:o}", "jobs", json_integer_value(json_object_get(head, "jobs")), "missing", (json_int_t)missing, "tau",
                     s->tau, "groups", groups);
  if (json)
    return clarke_json_print(stdout, answer, JSON_INDENT(2), "\n", err);
  if (answer == NULL)
    return clarke_no_memory(err);
  printf("%zu of %zu jobs answered; reduction of the loss: %s.\n", s->n_lines, clarke_count_at(head, "jobs"), clarke_text_at(head, "reduction"));
  json_array_foreach(groups, i, one)
    print_group(one, s->tau);
  json_decref(answer);
  return CLARKE_OK;
}

static void
summary_clear(summary *s)
{
  for (size_t i = 0; i < s->n_groups; i++) {
    free(s->group[i].d);
    free(s->group[i].place);
  }
  for (size_t i = 0; s->line != NULL && s->weights != NULL && i <= s->n_lines; i++) {
    json_decref(s->line[i]);
    free(s->weights[i]);
  }
  free(s->group);
  free(s->line);
  free(s->weights);
}

clarke_status
clarke_sweep_summary(size_t *missing, const clarke_lines *r, double tau, bool json, clarke_error *err)
{
  summary s = {.tau = tau};
  json_t *head = json_loads(r->head, 0, NULL);
  clarke_status status = head != NULL ? read_lines(&s, r, err) : clarke_no_memory(err);

  *missing = clarke_count_at(head, "jobs") > r->n ? clarke_count_at(head, "jobs") - r->n : 0;
  if (status == CLARKE_OK)
    status = add_groups(&s, head, err);
  for (size_t i = 0; status == CLARKE_OK && i < s.n_lines; i++)
    take_line(&s, i);
  if (status == CLARKE_OK)
    status = tell(&s, head, *missing, json, err);
  summary_clear(&s);
  json_decref(head);
  return status;
}

double
clarke_sweep_read_tau(const char *text, const struct argp_state *state)
{
  char *end;
  const double tau = strtod(text, &end);

  if (end == text || *end != '\0' || !(tau >= 0) || tau > 1e300)
    argp_error(state, "--tau: '%s' is no number from 0 on", text);
  return tau;
}
