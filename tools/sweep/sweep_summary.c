#include "sweep_summary.h"

#include "object.h"
#include "session/json.h"
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of wrong answers that the limits allow. */
#define ALPHA 0.05

typedef enum { LABEL_ZERO, LABEL_ROUNDING, LABEL_BRANCH, LABEL_BIFURCATION, LABEL_UNKNOWN, N_LABELS } label;

static const char *const label_names[] = {"zero", "rounding", "branch", "bifurcation", "unknown"};

typedef struct {
  const char *weights; /* which: the text of its hash, or seed */
  double d;            /* infinite, too, where it is no number */
  label kind;
} place;

/* What is known of a pair of profiles in a format. */
typedef struct {
  const char *profile[2], *format;
  size_t n, infinite, count[N_LABELS];
  double *d;        /* those that are finite: n - infinite */
  double rounding;  /* the largest where the exact difference is 0; negative: it nowhere is */
  double least;     /* the smallest where the exact difference is not 0: floats may lose it, and then it is 0 */
  double positive;  /* the smallest that is not 0; infinite: there is none */
  double tau;       /* infinite: there is none */
  place *place;     /* n */
} group;

typedef struct {
  size_t n_lines, n_groups, batches;
  json_t **line;
  char **weights;
  group *group;
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
  *g = (group){.profile = {p, q}, .format = format, .rounding = -1, .least = INFINITY, .positive = INFINITY};
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
take_floats(group *g, const json_t *floats, const json_t *exactly_zero, const char *weights)
{
  const bool finite = json_is_true(json_object_get(floats, "finite")) && json_is_number(json_object_get(floats, "l1_float"));
  const double d = finite ? json_number_value(json_object_get(floats, "l1_float")) : INFINITY;
  const label kind = finite ? label_of(floats, d) : LABEL_UNKNOWN;

  g->place[g->n++] = (place){.weights = weights, .d = d, .kind = kind};
  g->count[kind]++;
  if (finite && d > 0)
    g->positive = fmin(g->positive, d);
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
        take_floats(g, floats, json_object_get(json_object_get(pair, "exact"), "zero"), s->weights[at]);
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

/* --- thresholds -------------------------------------------------------------------------------- */

static bool
is_pair(const group *g, const char *of)
{
  const size_t n = strlen(g->profile[0]);

  return strncmp(of, g->profile[0], n) == 0 && of[n] == ',' && strcmp(of + n + 1, g->profile[1]) == 0;
}

/* Each group's: the one that is given, or the least positive difference of that pair in its format. */
static clarke_status
set_thresholds(summary *s, const clarke_sweep_summing *q, clarke_error *err)
{
  bool known = q->tau_of == NULL;

  for (size_t i = 0; i < s->n_groups; i++) {
    s->group[i].tau = q->tau_of == NULL ? q->tau : INFINITY;
    for (size_t k = 0; k < s->n_groups && q->tau_of != NULL; k++)
      if (is_pair(&s->group[k], q->tau_of) && strcmp(s->group[k].format, s->group[i].format) == 0) {
        s->group[i].tau = s->group[k].positive;
        known = true;
      }
  }
  return known || s->n_groups == 0 ? CLARKE_OK
                                   : clarke_fail(err, CLARKE_EINPUT, "--tau: '%s' is no pair of profiles of the sweep, in the manifest's order", q->tau_of);
}

/* --- what is said ------------------------------------------------------------------------------- */

/* How many sets of weights there are; of how many some minibatch is beyond tau; whether each has as many minibatches. */
static size_t
count_weights(size_t *beyond, bool *even, group *g)
{
  size_t n = 0, each = 0;

  *beyond = 0;
  *even = true;
  qsort(g->place, g->n, sizeof *g->place, compare_places);
  for (size_t i = 0; i < g->n; n++) {
    const size_t first = i;
    bool any = false;

    for (; i < g->n && compare_places(&g->place[first], &g->place[i]) == 0; i++)
      any = any || g->place[i].d > g->tau;
    each = first == 0 ? i : each;
    *even = *even && i - first == each;
    *beyond += any;
  }
  return n;
}

/* Hoeffding's for the share of M sets of weights; McDiarmid's for that of M x R pairs, each of which two drawings change. Of a threshold that
 * these draws gave neither says anything, nor of pairs that are missing for some weights: there is no limit then. */
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

static size_t
count_beyond(const group *g)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n; i++)
    n += g->place[i].d > g->tau;
  return n;
}

/* How many are from 10^decade to 10^(decade + 1), by label; those that are 0 or not finite are in none. */
static json_t *
decade_json(const group *g, int decade)
{
  size_t count[N_LABELS] = {0}, n = 0;
  json_t *j;

  for (size_t i = 0; i < g->n; i++)
    if (isfinite(g->place[i].d) && g->place[i].d > 0 && (int)floor(log10(g->place[i].d)) == decade) {
      count[g->place[i].kind]++;
      n++;
    }
  if (n == 0)
    return NULL;
  j = json_pack("{s:i}", "decade", decade);
  for (label i = LABEL_ROUNDING; i < N_LABELS; i++)
    clarke_json_set(&j, label_names[i], json_integer((json_int_t)count[i]));
  return j;
}

static json_t *
histogram_json(const group *g, double greatest)
{
  json_t *list = json_array();

  if (!isfinite(g->positive))
    return list;
  for (int k = (int)floor(log10(g->positive)); k <= (int)floor(log10(greatest)); k++) {
    json_t *decade = decade_json(g, k);

    if (decade != NULL)
      clarke_json_append(&list, decade);
  }
  return list;
}

static json_t *
share_json(size_t n, size_t of, bool limited, double within)
{
  return json_pack("{s:I, s:I, s:o}", "n", (json_int_t)n, "of", (json_int_t)of, "within", limited ? json_real(within) : json_null());
}

static json_t *
group_json(group *g, bool given)
{
  const size_t finite = g->n - g->infinite;
  bool even;
  size_t any, m = count_weights(&any, &even, g), r = m > 0 ? g->n / m : 0;
  json_t *j = json_pack("{s:[s,s], s:s, s:I}", "profiles", g->profile[0], g->profile[1], "format", g->format, "n", (json_int_t)g->n);

  qsort(g->d, finite, sizeof *g->d, compare_doubles);
  for (label i = 0; i < N_LABELS; i++)
    clarke_json_set(&j, label_names[i], json_integer((json_int_t)g->count[i]));
  if (finite > 0) {
    clarke_json_set(&j, "least", json_real(g->d[0]));
    clarke_json_set(&j, "median", json_real(g->d[(finite - 1) / 2]));
    clarke_json_set(&j, "greatest", json_real(g->d[finite - 1]));
  }
  clarke_json_set(&j, "least_positive", isfinite(g->positive) ? json_real(g->positive) : json_null());
  clarke_json_set(&j, "infinite", json_integer((json_int_t)g->infinite));
  clarke_json_set(&j, "histogram", histogram_json(g, finite > 0 ? g->d[finite - 1] : 0));
  clarke_json_set(&j, "greatest_where_exactly_0", g->rounding >= 0 ? json_real(g->rounding) : json_null());
  clarke_json_set(&j, "least_of_a_bifurcation", isfinite(g->least) ? json_real(g->least) : json_null());
  clarke_json_set(&j, "tau", isfinite(g->tau) ? json_real(g->tau) : json_null());
  if (m > 0 && isfinite(g->tau)) {
    clarke_json_set(&j, "weights_beyond_tau", share_json(any, m, given && even, hoeffding(m)));
    clarke_json_set(&j, "jobs_beyond_tau", share_json(count_beyond(g), g->n, given && even, mcdiarmid(m, r)));
  }
  return j;
}

static void
print_shares(double tau, const json_t *weights, const json_t *jobs)
{
  const json_t *of_weights = json_object_get(weights, "within"), *of_jobs = json_object_get(jobs, "within");

  printf("  beyond %.3g: %zu of %zu weights", tau, clarke_count_at(weights, "n"), clarke_count_at(weights, "of"));
  if (json_is_number(of_weights))
    printf(" (Hoeffding: within %.3g)", json_number_value(of_weights));
  printf(", %zu of %zu jobs", clarke_count_at(jobs, "n"), clarke_count_at(jobs, "of"));
  if (json_is_number(of_jobs))
    printf(" (McDiarmid: within %.3g)", json_number_value(of_jobs));
  putchar('\n');
}

static void
print_group(const json_t *j, bool first)
{
  const json_t *weights = json_object_get(j, "weights_beyond_tau"), *jobs = json_object_get(j, "jobs_beyond_tau");
  const json_t *names = json_object_get(j, "profiles"), *least = json_object_get(j, "least_of_a_bifurcation");
  const json_t *rounding = json_object_get(j, "greatest_where_exactly_0");

  printf("%s%s against %s, %s\n", first ? "" : "\n", json_string_value(json_array_get(names, 0)), json_string_value(json_array_get(names, 1)),
         clarke_text_at(j, "format"));
  printf("  D = 0: %zu; rounding: %zu; a branch that floats alone take: %zu; a real bifurcation: %zu; not known: %zu\n", clarke_count_at(j, "zero"),
         clarke_count_at(j, "rounding"), clarke_count_at(j, "branch"), clarke_count_at(j, "bifurcation"), clarke_count_at(j, "unknown"));
  if (json_object_get(j, "median") != NULL)
    printf("  least %.3g, median %.3g, greatest %.3g\n", json_number_value(json_object_get(j, "least")),
           json_number_value(json_object_get(j, "median")), json_number_value(json_object_get(j, "greatest")));
  if (json_is_number(json_object_get(j, "least_positive")) && clarke_count_at(j, "zero") > 0)
    printf("  of those that are not 0 the least is %.3g\n", json_number_value(json_object_get(j, "least_positive")));
  if (!json_is_null(rounding))
    printf("  where the exact difference is 0, at most %.3g\n", json_number_value(rounding));
  if (!json_is_null(least))
    printf("  where the exact difference is not 0 (a real bifurcation), at least %.3g\n", json_number_value(least));
  if (json_is_null(json_object_get(j, "tau")))
    puts("  no threshold: the pair of --tau has no difference that is not 0 in this format");
  if (weights != NULL)
    print_shares(json_number_value(json_object_get(j, "tau")), weights, jobs);
}

/* --- three lines -------------------------------------------------------------------------------- */

static void
put_list(FILE *to, const json_t *texts)
{
  for (size_t i = 0; i < json_array_size(texts); i++)
    fprintf(to, "%s%s", i > 0 ? ", " : "", json_string_value(json_array_get(texts, i)));
}

static void
put_asked(FILE *to, const summary *s, const json_t *head)
{
  const json_t *formats = json_object_get(head, "formats");

  fputs("How far apart are gradients, by what is taken at kinks and ties? ", to);
  put_list(to, json_object_get(head, "profiles"));
  fprintf(to, "; exactly%s", json_array_size(formats) > 0 ? ", and in " : "");
  put_list(to, formats);
  fprintf(to, "; %zu of %zu jobs answered; reduction of the loss: %s; ", s->n_lines, clarke_count_at(head, "jobs"), clarke_text_at(head, "reduction"));
  clarke_put_hash(to, clarke_text_at(head, "sweep"));
  putc('.', to);
}

/* Counts pairs of profiles by whether their exact gradients are one: 0 they differ, 1 they are, 2 that is not known. */
static void
count_exact(size_t count[3], const summary *s)
{
  for (size_t at = 0; at < s->n_lines; at++) {
    const json_t *pairs = json_object_get(s->line[at], "pairs");

    for (size_t i = 0; i < json_array_size(pairs); i++) {
      const json_t *zero = json_object_get(json_object_get(json_array_get(pairs, i), "exact"), "zero");

      count[json_is_true(zero) ? 1 : json_is_false(zero) ? 0 : 2]++;
    }
  }
}

static json_t *
exact_json(const size_t exact[3])
{
  return json_pack("{s:I, s:I, s:I}", "differ", (json_int_t)exact[0], "equal", (json_int_t)exact[1], "unknown", (json_int_t)exact[2]);
}

static void
put_answer(FILE *to, const summary *s, const size_t exact[3])
{
  static const char *const said[] = {[LABEL_BIFURCATION] = "for real", [LABEL_BRANCH] = "by a side that rounding alone takes",
                                     [LABEL_ROUNDING] = "by rounding of the same numbers", [LABEL_UNKNOWN] = "for no known reason"};
  const size_t compared = exact[0] + exact[1] + exact[2];
  size_t n = 0;

  if (compared == 0)
    fputs("Nothing was compared yet.", to);
  else {
    fprintf(to, "Exact gradients differ in %zu of %zu comparisons", exact[0], compared);
    fprintf(to, exact[2] > 0 ? "; of %zu that is not known." : ".", exact[2]);
  }
  for (label i = N_LABELS - 1; i > LABEL_ZERO; i--) {
    size_t of = 0;

    for (size_t k = 0; k < s->n_groups; k++)
      of += s->group[k].count[i];
    if (of > 0)
      fprintf(to, "%s %s in %zu (%s)", n++ == 0 ? " Floats differ" : ",", said[i], of, label_names[i]);
  }
  fputs(n > 0 ? "." : s->n_groups > 0 && compared > 0 ? " Floats are equal everywhere." : "", to);
}

static clarke_status
summarize(clarke_summary *lines, const summary *s, const size_t exact[3], const json_t *head, size_t missing, clarke_error *err)
{
  clarke_status status = clarke_summary_begin(lines, err);

  if (status == CLARKE_OK) {
    put_asked(lines->asked.to, s, head);
    put_answer(lines->answer.to, s, exact);
    if (missing > 0)
      fprintf(lines->next.to, "Ask about the other %zu, too: with the same command again, or with other parts, which clarke merge puts together.", missing);
    else if (exact[0] > 0)
      fputs("Find where: clarke audit --touched of such weights and minibatch names the kinks and ties.", lines->next.to);
    else if (exact[2] > 0)
      fputs("The results have bounds on what is not known (l1_at_least, l1_at_most).", lines->next.to);
    else
      fputs("Nothing needs doing.", lines->next.to);
  }
  return clarke_summary_end(lines, status, err);
}

/* As text: three lines, then group by group. */
static void
print_text(const clarke_summary *lines, const json_t *groups)
{
  const json_t *one;
  size_t i;

  clarke_summary_print(lines);
  json_array_foreach(groups, i, one)
    print_group(one, i == 0);
}

static clarke_status
tell(summary *s, const json_t *head, size_t missing, const clarke_sweep_summing *q, clarke_error *err)
{
  json_t *groups = json_array(), *answer;
  clarke_summary lines = {0};
  size_t exact[3] = {0, 0, 0};
  clarke_status status;

  for (size_t i = 0; i < s->n_groups; i++)
    clarke_json_append(&groups, group_json(&s->group[i], q->tau_of == NULL));
  count_exact(exact, s);
  answer = json_pack("{s:I, s:I, s:o, s:s?, s:o, s:o}", "jobs", json_integer_value(json_object_get(head, "jobs")), "missing", (json_int_t)missing, "tau",
                     q->tau_of == NULL ? json_real(q->tau) : json_null(), "tau_of", q->tau_of, "exact", exact_json(exact), "groups", groups);
  if (answer == NULL)
    return clarke_no_memory(err);
  status = q->svg != NULL ? clarke_sweep_histograms(groups, q->svg, err) : CLARKE_OK;
  if (status == CLARKE_OK)
    status = summarize(&lines, s, exact, head, missing, err);
  clarke_summary_set(&answer, &lines, status == CLARKE_OK);
  if (status == CLARKE_OK && (q->json || answer == NULL)) /* which it tells */
    status = clarke_json_print(stdout, answer, JSON_INDENT(2), "\n", err);
  else {
    if (status == CLARKE_OK)
      print_text(&lines, groups);
    json_decref(answer);
  }
  clarke_summary_clear(&lines);
  return status;
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
clarke_sweep_summary(size_t *missing, const clarke_lines *r, const clarke_sweep_summing *q, clarke_error *err)
{
  summary s = {0};
  json_t *head = json_loads(r->head, 0, NULL);
  clarke_status status = head != NULL ? read_lines(&s, r, err) : clarke_no_memory(err);

  *missing = clarke_count_at(head, "jobs") > r->n ? clarke_count_at(head, "jobs") - r->n : 0;
  if (status == CLARKE_OK)
    status = add_groups(&s, head, err);
  for (size_t i = 0; status == CLARKE_OK && i < s.n_lines; i++)
    take_line(&s, i);
  if (status == CLARKE_OK)
    status = set_thresholds(&s, q, err);
  if (status == CLARKE_OK)
    status = tell(&s, head, *missing, q, err);
  summary_clear(&s);
  json_decref(head);
  return status;
}

bool
clarke_sweep_take(int key, const char *arg, const struct argp_state *state, clarke_sweep_summing *to)
{
  char *end;

  if (key == CLARKE_OPTION_SWEEP_SVG)
    to->svg = arg;
  else if (key == CLARKE_OPTION_TAU && strchr(arg, ',') != NULL)
    to->tau_of = arg;
  else if (key == CLARKE_OPTION_TAU) {
    to->tau = strtod(arg, &end);
    to->tau_of = NULL;
    if (end == arg || *end != '\0' || !(to->tau >= 0) || to->tau > 1e300)
      argp_error(state, "--tau: '%s' is no number from 0 on, nor two profiles with a comma between", arg);
  } else
    return false;
  return true;
}
