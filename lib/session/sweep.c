/* A job of a sweep: the audit, then each pair of profiles exactly and in each of the floats. */
#include "session/sweep_inside.h"

#include "exact/upward.h"
#include "program/ieee.h"
#include "session/json.h"

#include <stdlib.h>

void
clarke_sweep_norms_init(clarke_sweep_norms *n)
{
  mpq_inits(n->l1, n->inf, NULL);
  n->l1_within = n->inf_within = 0;
  n->finite = true;
}

void
clarke_sweep_norms_clear(clarke_sweep_norms *n)
{
  mpq_clears(n->l1, n->inf, NULL);
}

/* The double below (or above) q + by. */
static double
bound_of(const mpq_t q, double by, bool below)
{
  double d;
  mpq_t moved;

  mpq_init(moved);
  mpq_set_d(moved, by);
  mpq_add(moved, q, moved);
  if (mpq_sgn(moved) < 0)
    mpq_set_ui(moved, 0, 1);
  d = mpq_get_d(moved); /* rounded toward 0 */
  mpq_clear(moved);
  return below ? d : clarke_above(d);
}

/* KEY: the rational itself, and KEY_float near it; or KEY_at_least, KEY_at_most. */
static clarke_status
put_norm(json_t **to, const char *key, const mpq_t q, double within, clarke_error *err)
{
  char name[32], *text;

  if (within == 0) {
    text = mpq_get_str(NULL, 10, q);
    if (text == NULL)
      return clarke_no_memory(err);
    clarke_json_set(to, key, clarke_json_text(text));
    free(text);
    snprintf(name, sizeof name, "%s_float", key);
    clarke_json_set(to, name, json_real(mpq_get_d(q)));
    return CLARKE_OK;
  }
  snprintf(name, sizeof name, "%s_at_least", key);
  clarke_json_set(to, name, json_real(bound_of(q, -within, true)));
  snprintf(name, sizeof name, "%s_at_most", key);
  clarke_json_set(to, name, json_real(bound_of(q, within, false)));
  return CLARKE_OK;
}

clarke_status
clarke_sweep_put_norms(json_t **to, const clarke_sweep_norms *n, clarke_error *err)
{
  clarke_status status;

  clarke_json_set(to, "finite", json_boolean(n->finite));
  if (!n->finite)
    return CLARKE_OK;
  status = put_norm(to, "l1", n->l1, n->l1_within, err);
  return status == CLARKE_OK ? put_norm(to, "inf", n->inf, n->inf_within, err) : status;
}

/* What the difference in floats is of; NULL where it is none, or not known. */
static const char *
label_of(const clarke_sweep_norms *n, clarke_truth exact_zero, size_t only)
{
  if (!n->finite || mpq_sgn(n->l1) == 0)
    return NULL;
  return exact_zero == CLARKE_NO ? "bifurcation" : exact_zero == CLARKE_UNKNOWN ? NULL : only > 0 ? "branch" : "rounding";
}

typedef struct {
  const clarke_sweep_question *q;
  clarke_audit_session s;
  clarke_sweep_floats floats[CLARKE_IEEE_F64 + 1]; /* by place among the formats */
} job;

static clarke_status
put_floats(json_t **to, const job *j, size_t a, size_t b, clarke_truth zero, clarke_error *err)
{
  const clarke_sweep_question *q = j->q;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < q->n_formats && status == CLARKE_OK; k++) {
    const size_t only = clarke_sweep_only(&j->floats[k], &j->s.graph, &q->profile[a], &q->profile[b]);
    json_t *of = json_object();
    clarke_sweep_norms n;
    const char *label;

    clarke_sweep_norms_init(&n);
    clarke_sweep_compare(&n, &j->floats[k], &j->s.graph, a, b);
    status = clarke_sweep_put_norms(&of, &n, err);
    label = label_of(&n, zero, only);
    clarke_json_set(&of, "label", label != NULL ? clarke_json_text(label) : json_null());
    clarke_json_set(&of, "touched_in_floats_alone", json_integer((json_int_t)only));
    clarke_json_set(to, clarke_ieee_name(q->format[k]), of);
    clarke_sweep_norms_clear(&n);
  }
  return status;
}

static clarke_status
put_pair(json_t **pairs, const job *j, size_t a, size_t b, clarke_error *err)
{
  json_t *pair = json_object(), *exact = json_object(), *floats = json_object();
  clarke_truth zero = CLARKE_UNKNOWN;
  clarke_sweep_norms n;
  clarke_status status;

  clarke_sweep_norms_init(&n);
  status = clarke_sweep_exact(&n, &zero, &j->s, j->q, a, b, err);
  clarke_json_set(&pair, "profiles", json_pack("[s, s]", j->q->profile_name[a], j->q->profile_name[b]));
  clarke_json_set(&exact, "zero", zero == CLARKE_UNKNOWN ? json_null() : json_boolean(zero == CLARKE_YES));
  if (status == CLARKE_OK && (zero != CLARKE_UNKNOWN || mpq_sgn(n.l1) != 0 || n.l1_within > 0))
    status = clarke_sweep_put_norms(&exact, &n, err);
  if (status == CLARKE_OK)
    status = put_floats(&floats, j, a, b, zero, err);
  clarke_json_set(&pair, "exact", exact);
  clarke_json_set(&pair, "floats", floats);
  clarke_json_append(pairs, pair);
  clarke_sweep_norms_clear(&n);
  return status;
}

static clarke_status
put_answer(json_t **answer, const job *j, clarke_error *err)
{
  const clarke_audit *a = &j->s.audit;
  json_t *pairs = json_array();
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < j->q->n_profiles && status == CLARKE_OK; k++)
    for (size_t i = 0; i < k && status == CLARKE_OK; i++)
      status = put_pair(&pairs, j, i, k, err);
  *answer = json_object();
  clarke_json_set(answer, "zone", a->zone.zone == CLARKE_ZONE_UNKNOWN ? json_null() : clarke_json_text(clarke_zone_name(a->zone.zone)));
  clarke_json_set(answer, "verdict", clarke_json_text(clarke_verdict_name(a->verdict)));
  clarke_json_set(answer, "touched", json_integer((json_int_t)j->s.replay.n_touches));
  clarke_json_set(answer, "pairs", pairs);
  return status == CLARKE_OK && *answer == NULL ? clarke_no_memory(err) : status;
}

static clarke_status
ask(job *j, clarke_error *err)
{
  const clarke_sweep_question *q = j->q;
  clarke_status status = clarke_audit_session_read(&j->s, &q->ask, err);

  /* A job's id stands for the bytes that were read, and those of other files are not among them. */
  if (status == CLARKE_OK && j->s.external)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: a sweep needs the model in one file: its weights lie in others, and could change while "
                         "the job's name stays. Save it with onnx.save_model, save_as_external_data=False", j->s.model.name);
  if (status == CLARKE_OK && q->seed != NULL)
    status = clarke_sweep_draw(&j->s.graph, *q->seed, err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_ask(&j->s, &q->ask, err);
  if (status == CLARKE_OK && j->s.stopped != NULL)
    status = clarke_fail(err, CLARKE_ESTOPPED, "%s", j->s.stopped);
  for (size_t k = 0; k < q->n_formats && status == CLARKE_OK; k++)
    status = clarke_sweep_replay(&j->floats[k], &j->s, q, q->format[k], err);
  return status;
}

clarke_status
clarke_sweep_answer(json_t **answer, const clarke_sweep_question *q, clarke_error *err)
{
  job j = {.q = q};
  clarke_status status;

  *answer = NULL;
  clarke_audit_session_init(&j.s);
  status = ask(&j, err);
  if (status == CLARKE_OK)
    status = put_answer(answer, &j, err);
  for (size_t k = 0; k < q->n_formats; k++)
    clarke_sweep_floats_clear(&j.floats[k], q);
  clarke_audit_session_clear(&j.s);
  if (status != CLARKE_OK) {
    json_decref(*answer);
    *answer = NULL;
  }
  return status;
}
