/* clarke check-point: a verifier's counterexample replayed, exactly and in floats. */
#include <stdio.h> /* before gmp.h, for its printing */

#include "check_point_floats.h"

#include "base/text.h"
#include "command.h"
#include "failed.h"
#include "format/property.h"
#include "session/derive.h"
#include "session/json.h"
#include "summary.h"
#include "watch.h"

#include <argp.h>
#include <ctype.h>
#include <flint/flint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS ((size_t)16)
#define MOST_ORDERS ((size_t)1000)
#define UNDECIDED 2 /* the sign of a ball that holds 0 */
#define NEAREST 1e-300 /* nearer, or as much farther, a double does not tell a distance */
#define NAMED ((size_t)10) /* assertions that fail, in the report */

typedef struct {
  const char *model, *property, *at, *output;
  size_t orders;
  bool json;
  clarke_watch_limits watch;
} request;

typedef struct {
  clarke_derive_session session;
  clarke_query query;
  clarke_counterexample given; /* empty: the point came otherwise */
  char property_sha256[65];
  clarke_execution execution;
  clarke_number *value; /* query.n_inputs + query.n_outputs */
  size_t n_values;
  clarke_number *part; /* each assertion's margin */
  clarke_float_margins floats[CLARKE_FORMATS];
} replay;

#define OPTION_PROPERTY 'P'
#define OPTION_AT 'a'
#define OPTION_ORDERS 'o'

static const struct argp_option options[] = {
  {"property", OPTION_PROPERTY, "FILE.vnnlib", 0, "what the verifier was asked for: assertions on inputs X_i and outputs Y_j", 0},
  {"at", OPTION_AT, "POINT", 0, "the counterexample: a file as VNN-COMP has it, ((X_0 0.5) ... (Y_0 1.25) ...), or a point as derive takes it", 0},
  {"orders", OPTION_ORDERS, "N", 0, "so many orders of summation are tried in floats (16; at most 1000)", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTION_OF_OUTPUT,
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Is a verifier's counterexample one? The network is computed at the point in exact arithmetic, and each assertion of the property is "
  "decided: it holds, or fails, and by how much. No tolerance is used. Beside that float32 and float64 are tried, in several orders of "
  "summation: the file's, its reverse, and orders that are drawn, the same ones each time."
  "\vExample:\n"
  "  clarke check-point net.onnx --property prop.vnnlib --at counterexample.txt\n\n"
  "Exit status: 0 it is a counterexample in exact arithmetic, 1 it is none, 2 the question could not be asked, 3 undecided.";

static void
take_orders(request *r, const char *arg, struct argp_state *state)
{
  char *end;

  r->orders = strtoul(arg, &end, 10);
  if (!isdigit((unsigned char)*arg) || *end != '\0' || r->orders == 0 || r->orders > MOST_ORDERS)
    argp_error(state, "--orders %s: a number from 1 to %zu is expected", arg, MOST_ORDERS);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.json = &r->json, .output = &r->output};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &r->watch))
    return 0;
  switch (key) {
  case OPTION_PROPERTY: r->property = arg; return 0;
  case OPTION_AT: r->at = arg; return 0;
  case OPTION_ORDERS: take_orders(r, arg, state); return 0;
  case ARGP_KEY_ARG:
    if (r->model != NULL)
      argp_error(state, "one model is expected");
    r->model = arg;
    return 0;
  case ARGP_KEY_END:
    if (r->model == NULL || r->property == NULL || r->at == NULL)
      argp_error(state, "a model, --property FILE.vnnlib and --at POINT are needed");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* --- what is read --------------------------------------------------------------------------------- */

static clarke_status
read_query(replay *c, const char *path, clarke_error *err)
{
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, path, err);

  if (status == CLARKE_OK)
    status = clarke_query_parse(&c->query, file.data, file.size, clarke_base_name(path), err);
  memcpy(c->property_sha256, file.sha256, sizeof c->property_sha256);
  clarke_file_clear(&file);
  return status;
}

/* Does the text begin as a counterexample of VNN-COMP's does? */
static bool
is_counterexample(const clarke_file *f)
{
  size_t i = 0;

  while (i < f->size && isspace(f->data[i]))
    i++;
  return i < f->size && (f->data[i] == '(' || f->data[i] == ';' || f->data[i] == 's' || f->data[i] == 'u');
}

/* *text (malloc) gets the point as derive takes it; NULL: as it was given. */
static clarke_status
read_given(char **text, replay *c, const char *at, clarke_error *err)
{
  clarke_error ignored;
  clarke_file file = {0};
  clarke_text list = {0};
  clarke_status status = CLARKE_OK;

  *text = NULL;
  if (clarke_ends_with(at, ".npy") || clarke_ends_with(at, ".npz") || clarke_file_read(&file, at, &ignored) != CLARKE_OK || !is_counterexample(&file)) {
    clarke_file_clear(&file);
    return CLARKE_OK; /* a list, or another file: what is wrong with it is said where it is read */
  }
  status = clarke_counterexample_parse(&c->given, file.data, file.size, clarke_base_name(at), err);
  clarke_file_clear(&file);
  if (status == CLARKE_OK)
    status = clarke_text_open(&list, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < c->given.n_inputs; i++) {
    fputs(i > 0 ? "," : "", list.to);
    mpq_out_str(list.to, 10, c->given.input[i]);
  }
  status = clarke_text_close(&list, CLARKE_OK, err);
  *text = list.text;
  list.text = NULL;
  clarke_text_clear(&list);
  return status;
}

static clarke_status
read_point_of_program(replay *c, const char *text, clarke_error *err)
{
  char *named = NULL;
  const char *at;
  clarke_status status;

  if (c->given.n_inputs > 0 && c->session.program.n_inputs != 1)
    return clarke_fail(err, CLARKE_EINPUT, "the program has %zu inputs; a counterexample is of one", c->session.program.n_inputs);
  if (c->given.n_inputs > 0) {
    named = malloc(strlen(c->session.program.input[0].name) + strlen(text) + 2);
    if (named == NULL)
      return clarke_no_memory(err);
    sprintf(named, "%s=%s", c->session.program.input[0].name, text);
  }
  at = named != NULL ? named : text;
  status = clarke_derive_point(&c->session, &at, 1, CLARKE_NONE, err);
  free(named);
  return status;
}

static clarke_status
read_model(replay *c, const request *r, clarke_error *err)
{
  clarke_file file = {0};
  char *text = NULL;
  const char *at;
  clarke_status status = read_given(&text, c, r->at, err);

  at = text != NULL ? text : r->at;
  if (status == CLARKE_OK)
    status = clarke_file_read(&file, r->model, err);
  if (status == CLARKE_OK)
    status = clarke_derive_session_read(&c->session, &(clarke_derive_request){.path = r->model, .file = &file, .output = r->output, .at = &at, .n_at = 1}, err);
  if (status == CLARKE_OK && !c->session.network)
    status = read_point_of_program(c, at, err);
  clarke_file_clear(&file);
  free(text);
  return status;
}

static clarke_status
check_sizes(const replay *c, const request *r, clarke_error *err)
{
  const size_t outputs = c->session.program.n_outputs;

  if (c->query.n_inputs != c->session.n_at || c->query.n_outputs != outputs)
    return clarke_fail(err, CLARKE_EINPUT, "%s declares %zu inputs and %zu outputs; %s has %zu and %zu", r->property, c->query.n_inputs, c->query.n_outputs,
                       r->model, c->session.n_at, outputs);
  if (c->given.n_outputs > 0 && c->given.n_outputs != outputs)
    return clarke_fail(err, CLARKE_EINPUT, "%s has %zu outputs; expected %zu, or none", r->at, c->given.n_outputs, outputs);
  return CLARKE_OK;
}

/* --- what is found --------------------------------------------------------------------------------- */

static int
exit_status(const replay *c)
{
  int status = c->execution.open ? EXIT_UNDECIDED : EXIT_HOLDS;

  for (size_t i = 0; !c->execution.open && i < c->query.asserted.n; i++) {
    const int sign = clarke_number_sign(&c->part[i]);

    if (sign == -1)
      return EXIT_FAILS;
    status = sign == UNDECIDED ? EXIT_UNDECIDED : status;
  }
  return status;
}

/* What was executed, put into the assertions. */
static void
measure(replay *c)
{
  for (size_t k = 0; k < c->query.n_outputs; k++)
    clarke_number_set(&c->value[c->query.n_inputs + k], &c->execution.value[c->session.program.output[k]]);
  for (size_t i = 0; i < c->query.asserted.n; i++)
    clarke_property_margin(&c->part[i], &c->query.asserted.part[i], c->value, c->execution.precision);
}

static size_t
count_of(const replay *c, int sign)
{
  size_t n = 0;

  for (size_t i = 0; i < c->query.asserted.n; i++)
    n += clarke_number_sign(&c->part[i]) == sign;
  return n;
}

/* Branches are told at a precision at which assertions need not be: those are asked again at others, all of them, for it is told how many fail. */
static clarke_status
decide(replay *c, clarke_error *err)
{
  const size_t n = c->query.asserted.n;
  clarke_status status = clarke_execute(&c->execution, &c->session.program, c->session.at, err);

  if (status != CLARKE_OK || c->execution.open)
    return status;
  c->n_values = c->query.n_inputs + c->query.n_outputs;
  c->value = clarke_numbers(c->n_values);
  c->part = clarke_numbers(n);
  if (c->value == NULL || c->part == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < c->query.n_inputs; i++)
    clarke_number_set_q(&c->value[i], c->session.at[i]);
  measure(c);
  while (status == CLARKE_OK && count_of(c, UNDECIDED) > 0 && c->execution.precision < CLARKE_PRECISION_LAST) {
    const long precision = 2 * c->execution.precision;

    clarke_execution_clear(&c->execution);
    status = clarke_execute_at(&c->execution, &c->session.program, c->session.at, precision, err);
    if (status != CLARKE_OK || c->execution.open)
      return status;
    measure(c);
  }
  return status;
}

/* --- what is told ----------------------------------------------------------------------------------- */

/* "by 0.25", "by about 1.25e-07", "exactly on its side's edge". */
static void
put_margin(FILE *to, const clarke_number *margin)
{
  const int sign = clarke_number_sign(margin);
  const double x = fabs(clarke_number_double(margin));
  char text[40];
  mpq_t q, distance;

  if (sign == 0 || sign == UNDECIDED) {
    fputs(sign == 0 ? "by nothing: both sides are equal" : "not known", to);
    return;
  }
  if (x < NEAREST || x > 1 / NEAREST) {
    fprintf(to, x < NEAREST ? "by less than %g" : "by more than %g", x < NEAREST ? NEAREST : 1 / NEAREST);
    return;
  }
  snprintf(text, sizeof text, "%.6g", x);
  mpq_inits(q, distance, NULL);
  mpq_set_d(q, isfinite(x) ? x : 0);
  mpq_abs(distance, margin->q);
  fprintf(to, "by %s%s", margin->exact && strtod(text, NULL) == x && mpq_equal(q, distance) ? "" : "about ", text);
  mpq_clears(q, distance, NULL);
}

/* The assertion whose margin is the least, of those that make the answer what it is; of balls that meet the first. */
static size_t
nearest(const replay *c)
{
  const size_t n = c->query.asserted.n;
  const int status = exit_status(c);
  size_t at = n;

  for (size_t i = 0; i < n; i++) {
    const int sign = clarke_number_sign(&c->part[i]);
    const bool counts = status == EXIT_FAILS ? sign == -1 : status == EXIT_UNDECIDED ? sign == UNDECIDED : true;

    if (counts && (at == n || clarke_number_compare(&c->part[i], &c->part[at], c->execution.precision) == -1))
      at = i;
  }
  return at;
}

static void
put_answer(FILE *to, const replay *c)
{
  const size_t n = c->query.asserted.n, at = c->execution.open ? 0 : nearest(c);

  switch (exit_status(c)) {
  case EXIT_HOLDS:
    fputs("Yes: in exact arithmetic ", to);
    if (n == 1)
      fputs("the assertion holds", to);
    else
      fprintf(to, "all %zu assertions hold", n);
    fprintf(to, ". Nearest to failing is that of line %zu: it holds ", c->query.asserted.part[at].line);
    put_margin(to, &c->part[at]);
    break;
  case EXIT_FAILS:
    fputs("No: in exact arithmetic ", to);
    if (n == 1)
      fputs("the assertion fails", to);
    else
      fprintf(to, "%zu of %zu assertions fail", count_of(c, -1), n);
    if (count_of(c, UNDECIDED) > 0)
      fprintf(to, ", and of %zu no precision told", count_of(c, UNDECIDED));
    fprintf(to, ". That of line %zu fails ", c->query.asserted.part[at].line);
    put_margin(to, &c->part[at]);
    break;
  default: fputs("It was not decided: a number could not be told from another at the highest precision", to);
  }
  putc('.', to);
}

static clarke_status
print_answer(const replay *c, const request *r, clarke_error *err)
{
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "Is this point a counterexample? %s at %s, property %s; model ", r->model, r->at, r->property);
    clarke_put_hash(s.asked.to, c->session.sha256);
    putc('.', s.asked.to);
    put_answer(s.answer.to, c);
    fputs(exit_status(c) == EXIT_HOLDS ? "The property is violated there, whatever the verifier's tolerance."
          : exit_status(c) == EXIT_FAILS ? "The point proves nothing: ask the verifier for another, or for more digits."
                                         : "Ask about a point with fewer digits, or nearer by.", s.next.to);
    status = clarke_summary_end(&s, status, err);
  }
  if (status == CLARKE_OK) {
    clarke_summary_print(&s);
    for (size_t i = 0, told = 0; !c->execution.open && i < c->query.asserted.n && told < NAMED; i++)
      if (clarke_number_sign(&c->part[i]) == -1) {
        printf("line %zu fails ", c->query.asserted.part[i].line);
        put_margin(stdout, &c->part[i]);
        putchar('\n');
        told++;
      }
    if (!c->execution.open)
      clarke_float_margins_print(c->floats);
  }
  clarke_summary_clear(&s);
  return status;
}

static json_t *
number_json(const clarke_number *x)
{
  char *text = clarke_number_text(x);
  json_t *j = text != NULL ? json_string(text) : NULL;

  free(text);
  return j;
}

/* The verifier's own outputs: how far from the exact ones is the worst of them? */
static void
set_given(json_t **j, const replay *c)
{
  const long precision = c->execution.precision;
  clarke_number worst, distance, zero;

  clarke_number_init(&worst);
  clarke_number_init(&distance);
  clarke_number_init(&zero);
  for (size_t k = 0; k < c->given.n_outputs; k++) {
    clarke_number_set_q(&distance, c->given.output[k]);
    clarke_number_sub(&distance, &distance, &c->execution.value[c->session.program.output[k]], precision);
    if (clarke_number_sign(&distance) == -1)
      clarke_number_sub(&distance, &zero, &distance, precision);
    if (clarke_number_compare(&distance, &worst, precision) == 1)
      clarke_number_set(&worst, &distance);
  }
  if (c->given.n_outputs > 0)
    clarke_json_set(j, "outputs_differ_by", number_json(&worst));
  clarke_number_clear(&zero);
  clarke_number_clear(&distance);
  clarke_number_clear(&worst);
}

static void
set_exact(json_t **j, const replay *c)
{
  json_t *outputs = json_array(), *failing = json_array();

  for (size_t k = 0; k < c->query.n_outputs; k++)
    clarke_json_append(&outputs, number_json(&c->execution.value[c->session.program.output[k]]));
  for (size_t i = 0; i < c->query.asserted.n; i++)
    if (clarke_number_sign(&c->part[i]) == -1)
      clarke_json_append(&failing, json_pack("{s:I, s:o}", "line", (json_int_t)c->query.asserted.part[i].line, "margin", number_json(&c->part[i])));
  clarke_json_set(j, "nearest", json_pack("{s:I, s:o}", "line", (json_int_t)c->query.asserted.part[nearest(c)].line, "margin", number_json(&c->part[nearest(c)])));
  clarke_json_set(j, "failing", failing);
  clarke_json_set(j, "not_decided", json_integer((json_int_t)count_of(c, UNDECIDED)));
  clarke_json_set(j, "outputs", outputs);
  set_given(j, c);
  clarke_json_set(j, "floats", clarke_float_margins_json(c->floats));
}

static clarke_status
print_json(const replay *c, const request *r, clarke_error *err)
{
  const int status = exit_status(c);
  json_t *j = json_pack("{s:s, s:o, s:s, s:o, s:s, s:I}", "answer", status == EXIT_HOLDS ? "holds" : status == EXIT_FAILS ? "fails" : "undecided",
                        "model", clarke_json_text(r->model), "model_sha256", c->session.sha256, "property", clarke_json_text(r->property),
                        "property_sha256", c->property_sha256, "assertions", (json_int_t)c->query.asserted.n);

  if (!c->execution.open)
    set_exact(&j, c);
  return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
}

static clarke_status
answer(replay *c, const request *r, clarke_error *err)
{
  clarke_status status = read_query(c, r->property, err);

  if (status == CLARKE_OK)
    status = read_model(c, r, err);
  if (status == CLARKE_OK)
    status = check_sizes(c, r, err);
  if (status == CLARKE_OK)
    status = decide(c, err);
  if (status == CLARKE_OK && !c->execution.open)
    status = clarke_float_margins_find(c->floats, &c->session.program, c->session.at, &c->query, r->orders, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK)
    status = (r->json ? print_json : print_answer)(c, r, err);
  return status;
}

static void
replay_clear(replay *c)
{
  clarke_numbers_free(c->part, c->part != NULL ? c->query.asserted.n : 0);
  clarke_numbers_free(c->value, c->n_values);
  clarke_float_margins_clear(c->floats);
  clarke_execution_clear(&c->execution);
  clarke_counterexample_clear(&c->given);
  clarke_query_clear(&c->query);
  clarke_derive_session_clear(&c->session);
}

int
clarke_command_check_point(int argc, char **argv)
{
  static char name[] = "clarke check-point";
  struct argp argp = {options, parse, "MODEL", doc, NULL, NULL, NULL};
  request r = {.orders = ORDERS};
  clarke_error err = {CLARKE_OK, ""};
  replay c = {.value = NULL};
  clarke_status status;
  int result;

  clarke_read_arguments(&r, &argp, name, argc, argv, 0);
  clarke_derive_session_init(&c.session);
  clarke_execution_init(&c.execution);
  clarke_float_margins_init(c.floats);
  clarke_watch_begin(&r.watch);
  status = answer(&c, &r, &err);
  clarke_watch_end();
  result = status == CLARKE_OK ? exit_status(&c) : clarke_failed("check-point", r.json, &err);
  replay_clear(&c);
  flint_cleanup_master();
  return result;
}
