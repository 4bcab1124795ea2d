#include "session/cost.h"

#include "base/text.h"
#include "format/onnx.h"
#include "network/graph/build.h"
#include "network/graph/choose.h"
#include "network/derive/tail.h"
#include "session/names.h"
#include "session/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void
clarke_cost_session_init(clarke_cost_session *s)
{
  memset(s, 0, sizeof *s);
  clarke_prog_init(&s->prog);
  clarke_code_init(&s->program);
  clarke_count_init(&s->count);
  clarke_graph_init(&s->graph);
  clarke_record_init(&s->record);
  clarke_audit_session_init(&s->audit);
  clarke_network_cost_init(&s->cost);
}

void
clarke_cost_session_clear(clarke_cost_session *s)
{
  clarke_network_cost_clear(&s->cost);
  clarke_count_clear(&s->count);
  clarke_prog_clear(&s->prog);
  clarke_code_clear(&s->program);
  clarke_graph_clear(&s->graph);
  clarke_audit_session_clear(&s->audit);
  clarke_record_clear(&s->record);
}

/* --- programs ------------------------------------------------------------------------------------------ */

static clarke_status
mark_inputs(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  char **names = NULL;
  size_t n = 0;
  clarke_status status = clarke_names_split(&names, &n, r->wrt, "--wrt", err);

  if (status == CLARKE_OK)
    status = clarke_code_wrt(&s->program, names, n, err);
  clarke_names_free(names, n);
  return status;
}

static clarke_status
read_program(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, r->path, err);

  if (status == CLARKE_OK)
    status = clarke_prog_read(&s->prog, file.data, file.size, s->name, err);
  clarke_file_clear(&file);
  if (status == CLARKE_OK)
    status = clarke_prog_lower(&s->program, &s->prog, err);
  if (status == CLARKE_OK)
    status = mark_inputs(s, r, err);
  return status == CLARKE_OK ? clarke_count_program(&s->count, &s->program, err) : status;
}

static clarke_status
read_point(mpq_t *at, const clarke_code *p, const char *const *text, size_t n, clarke_error *err)
{
  bool *given = calloc(p->n_inputs + 1, sizeof *given);
  clarke_status status = given != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    status = clarke_point_parse(at, given, p, text[k], err);
  for (size_t i = 0; i < p->n_inputs && status == CLARKE_OK; i++)
    if (!given[i])
      status = clarke_fail(err, CLARKE_EINPUT, "input '%.60s' has no value: --at %.60s=...", p->input[i].name, p->input[i].name);
  free(given);
  return status;
}

/* At the precision that its comparisons take, from the beginning. */
static clarke_status
count_run(clarke_cost_run *run, const clarke_code *p, mpq_t *at, const clarke_profile *profile, clarke_error *err)
{
  const size_t n = p->n_outputs * clarke_code_wrt_count(p);
  clarke_number *gradient = clarke_numbers(n);
  clarke_execution e;
  clarke_status status = gradient != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_execution_init(&e);
  clarke_tally_keep(&run->forward);
  if (status == CLARKE_OK)
    status = clarke_execute_at(&e, p, at, CLARKE_PRECISION_FIRST, err);
  if (status == CLARKE_OK && e.open)
    status = clarke_code_fail(p, e.open_at, err, "%ld bits do not decide the comparison made here", CLARKE_PRECISION_FIRST);
  clarke_tally_keep(&run->backward);
  if (status == CLARKE_OK)
    status = clarke_execution_ad(gradient, &e, profile, err);
  clarke_tally_keep(NULL);
  clarke_execution_clear(&e);
  clarke_numbers_free(gradient, gradient != NULL ? n : 0);
  return status;
}

clarke_status
clarke_cost_session_run(clarke_cost_run *run, const clarke_cost_session *s, const char *const *text, size_t n, clarke_error *err)
{
  const size_t entries = clarke_code_entries(&s->program);
  mpq_t *at = clarke_rationals(entries);
  clarke_profile profile;
  clarke_status status;

  *run = (clarke_cost_run){.forward = {0}};
  clarke_profile_init(&profile);
  status = at != NULL ? clarke_profile_load(&profile, "pytorch", err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = read_point(at, &s->program, text, n, err);
  if (status == CLARKE_OK)
    status = count_run(run, &s->program, at, &profile, err);
  clarke_profile_clear(&profile);
  clarke_rationals_free(at, at != NULL ? entries : 0);
  return status;
}

/* --- networks ------------------------------------------------------------------------------------------ */

static clarke_status
build(clarke_cost_session *s, clarke_model *m, clarke_error *err)
{
  clarke_loss loss;
  clarke_tensor x;
  clarke_status status = clarke_tail_take(&loss, &s->loss, m, NULL, err);

  clarke_tensor_init(&x);
  if (status == CLARKE_OK && m->n_inputs != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs, expected one", s->name, m->n_inputs);
  if (status == CLARKE_OK)
    status = clarke_sample_zeros(&x, m, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build_from(&s->graph, m, &x, err);
  clarke_tensor_clear(&x);
  return status;
}

static clarke_status
mark_parameters(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  char **names = NULL;
  size_t n = 0;
  clarke_status status = clarke_names_split(&names, &n, r->wrt, "--wrt", err);

  if (status == CLARKE_OK)
    status = clarke_graph_wrt(&s->graph, names, n, err);
  clarke_names_free(names, n);
  return status;
}

static clarke_status
read_network(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  clarke_file file = {0};
  clarke_model model;
  clarke_status status = clarke_file_read(&file, r->path, err);

  clarke_model_init(&model);
  if (status == CLARKE_OK)
    status = clarke_onnx_parse_at(&model, file.data, file.size, r->path, err);
  clarke_file_clear(&file);
  if (status == CLARKE_OK)
    status = clarke_output_choose(&model, r->output, err);
  if (status == CLARKE_OK)
    status = build(s, &model, err);
  clarke_model_clear(&model);
  if (status == CLARKE_OK)
    status = mark_parameters(s, r, err);
  return status == CLARKE_OK ? clarke_network_cost_find(&s->cost, &s->graph, r->padding, err) : status;
}

static clarke_status
read_folder(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  clarke_audit_request ask = {.wrt = r->wrt, .threads = 1};
  clarke_status status = clarke_record_open(&s->record, r->path, r->step, err);

  if (status == CLARKE_OK)
    status = clarke_record_request(&ask, &s->record, err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_read(&s->audit, &ask, err);
  s->loss = true;
  return status == CLARKE_OK ? clarke_network_cost_find(&s->cost, &s->audit.graph, r->padding, err) : status;
}

static bool
is_folder(const char *path)
{
  struct stat about;

  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

clarke_status
clarke_cost_session_read(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err)
{
  const bool folder = is_folder(r->path);

  s->name = clarke_base_name(r->path);
  if (r->output != NULL && (folder || !clarke_ends_with(r->path, ".onnx")))
    return clarke_fail(err, CLARKE_EINPUT, "%s is no ONNX file: an output is chosen of a network alone", s->name);
  if (clarke_ends_with(r->path, ".prog") && !folder)
    return read_program(s, r, err);
  s->network = true;
  if (!folder && !clarke_ends_with(r->path, ".onnx"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected FILE.prog, FILE.onnx or a run folder", s->name);
  return folder ? read_folder(s, r, err) : read_network(s, r, err);
}

const clarke_count *
clarke_cost_session_count(const clarke_cost_session *s, clarke_quantities q)
{
  return s->network ? &s->cost.total.count[q] : &s->count;
}

void
clarke_cost_session_entries(mpz_t p, const clarke_cost_session *s, clarke_quantities q)
{
  if (s->network)
    clarke_network_cost_entries(p, &s->cost, q);
  else
    mpz_set_ui(p, clarke_code_wrt_count(&s->program));
}
