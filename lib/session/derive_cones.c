/* The patterns of a network or program around a point from the cones on which it is linear there (region/regions.h): many more kinks
 * than the tree of patterns can do with, where it is piecewise linear in wrt: a network in its input, or in what one layer has. */
#include "session/derive.h"

#include "base/limit.h"
#include "base/room.h"
#include "base/stop.h"
#include "program/hold.h"
#include "region/functions.h"

#include <stdlib.h>
#include <string.h>

/* Cones (or the limit of regions, when that is lower), and entries of gradients that are kept. Beyond either the tree is asked, which
 * tells more of what it cannot finish. */
#define CONES ((size_t)1 << 16)
#define CONES_ENTRIES ((size_t)1 << 21)

/* A program of no more kinks is asked by the tree, whose proofs a person can read. */
#define FEW_KINKS 12

typedef struct {
  clarke_derive_session *s;
  clarke_patterns *t;
  clarke_functions functions;
  size_t told;
} gathering;

/* The program of the cones. */
static const clarke_code *
program_of(const clarke_derive_session *s)
{
  return s->is_held ? &s->held : &s->program;
}

/* Each entry is its value, and in wrt a variable more. */
static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  const clarke_derive_session *s = context;
  const clarke_code *p = program_of(s);
  size_t first = 0, variable = 0, k = 0;

  for (; entry - first >= p->input[k].n; first += p->input[k++].n)
    variable += p->input[k].wrt ? p->input[k].n : 0;
  if (p->input[k].wrt)
    mpq_set_ui(form[variable + entry - first], 1, 1);
  mpq_set(form[clarke_code_wrt_count(p)], s->at[entry]);
}

static clarke_status
set_gradient(clarke_pattern *p, const clarke_patterns *t, const clarke_forms *f, clarke_error *err)
{
  mpq_t q;

  p->gradient = clarke_numbers(t->dim);
  if (p->gradient == NULL)
    return clarke_no_memory(err);
  mpq_init(q);
  for (size_t k = 0; k < t->dim; k++) {
    const size_t at = f->p->output[k / t->width];

    fmpz_get_mpz(mpq_numref(q), clarke_forms_at(f, at) + k % t->width);
    fmpz_get_mpz(mpq_denref(q), f->den + at);
    mpq_canonicalize(q);
    clarke_number_set_q(&p->gradient[k], q);
  }
  mpq_clear(q);
  return CLARKE_OK;
}

static clarke_status
set_direction(clarke_pattern *p, const clarke_patterns *t, const clarke_witness *w, clarke_error *err)
{
  fmpz_t x;

  p->direction = calloc(1, sizeof *p->direction);
  if (p->direction != NULL)
    p->direction[0] = clarke_rationals(t->width);
  if (p->direction == NULL || p->direction[0] == NULL)
    return clarke_no_memory(err);
  p->n_directions = 1;
  fmpz_init(x);
  for (size_t k = 0; k < t->width; k++) {
    clarke_witness_get(x, w, k);
    fmpz_get_mpz(mpq_numref(p->direction[0][k]), x);
  }
  fmpz_clear(x);
  return CLARKE_OK;
}

/* A pattern for each gradient that is new. */
static clarke_status
keep_gradient(clarke_patterns *t, const clarke_region *region, clarke_error *err)
{
  clarke_pattern *p;
  clarke_status status;

  if (!clarke_room(&t->pattern, &t->capacity, t->n + 1, sizeof *t->pattern))
    return clarke_no_memory(err);
  p = &t->pattern[t->n++];
  *p = (clarke_pattern){.exact = true, .realized = true, .first_order = true};
  status = set_gradient(p, t, region->forms, err);
  return status == CLARKE_OK ? set_direction(p, t, region->point, err) : status;
}

static clarke_status
take_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  gathering *g = context;
  size_t function;
  clarke_status status = clarke_work_check(err);

  if (status == CLARKE_OK)
    status = clarke_functions_add(&function, &g->functions, region->forms, err);
  if (status == CLARKE_OK)
    status = clarke_regions_proof_leaf(&g->s->cones, region, function, err);
  if (status == CLARKE_OK && function == g->t->n)
    status = keep_gradient(g->t, region, err);
  *go_on = ++g->told < CONES && g->told < clarke_limit_of(CLARKE_LIMIT_REGIONS) && g->t->n * g->t->dim < CONES_ENTRIES;
  clarke_work_done();
  return status;
}

static clarke_status
gather(bool *found, gathering *g, clarke_error *err)
{
  const clarke_region_listener listener = clarke_regions_proof_listener(&g->s->cones);
  clarke_regions r;
  clarke_status status;

  clarke_functions_init(&g->functions, &g->s->forms);
  status = clarke_regions_tell(&r, &g->s->forms, NULL, take_region, g, &listener, err);
  clarke_functions_clear(&g->functions);
  *found = status == CLARKE_OK && r.complete;
  return status == CLARKE_OK ? clarke_regions_proof_end(&g->s->cones, err) : status;
}

/* Not piecewise linear, or too large: the tree is asked. */
static clarke_status
begin(bool *linear, clarke_derive_session *s, clarke_error *err)
{
  clarke_error why = {CLARKE_OK, ""};
  const clarke_code *p = program_of(s);
  clarke_status status = clarke_forms_fit(p, clarke_code_wrt_count(p)) ? CLARKE_OK : CLARKE_EINPUT;

  if (status == CLARKE_OK)
    status = clarke_forms_init(&s->forms, p, clarke_code_wrt_count(p), set_entry, s, &why);
  *linear = status == CLARKE_OK && (s->network || s->forms.kinks > FEW_KINKS);
  if (*linear)
    return clarke_regions_proof_init(&s->cones, &s->forms, true, err);
  return status == CLARKE_OK || status == CLARKE_EINPUT ? CLARKE_OK : clarke_fail(err, status, "%s", why.text);
}

static clarke_status
find(void *context, bool *found, clarke_patterns *t, clarke_error *err)
{
  clarke_derive_session *s = context;
  gathering g = {.s = s, .t = t};
  clarke_status status = begin(found, s, err);

  if (status != CLARKE_OK || !*found)
    return status;
  t->width = clarke_code_wrt_count(&s->program);
  t->dim = s->program.n_outputs * t->width;
  status = gather(found, &g, err);
  if (status == CLARKE_OK && !*found)
    clarke_patterns_clear(t);
  t->cones = t->tree.complete = t->all_known = *found;
  return status;
}

clarke_status
clarke_derive_hold(clarke_derive_session *s, mpq_t *at, clarke_error *err)
{
  clarke_error why = {CLARKE_OK, ""};
  const clarke_status status = clarke_code_hold(&s->held, at, &why);

  s->is_held = status == CLARKE_OK;
  return status == CLARKE_ENOMEM || status == CLARKE_EINTERNAL ? clarke_fail(err, status, "%s", why.text) : CLARKE_OK;
}

/* As networks are held where they are read (derive_network.c). */
static clarke_status
hold_program(clarke_derive_session *s, clarke_error *err)
{
  clarke_status status = clarke_prog_lower(&s->held, &s->prog, err);

  if (status == CLARKE_OK)
    status = clarke_code_wrt(&s->held, s->wrt, s->n_wrt, err);
  return status == CLARKE_OK ? clarke_derive_hold(s, s->at, err) : status;
}

clarke_status
clarke_derive_ask(clarke_derivation *d, clarke_derive_session *s, clarke_error *err)
{
  const clarke_pattern_source source = {s, find};
  const bool all = clarke_code_wrt_count(&s->program) == clarke_code_entries(&s->program);
  clarke_status status = s->network || all ? CLARKE_OK : hold_program(s, err);
  const bool cones = (s->is_held || all) && s->n_at <= clarke_limit_of(CLARKE_LIMIT_DERIVATIVES);

  if (status != CLARKE_OK)
    return status;
  return clarke_derive_by(d, &s->program, s->at, &s->profile, cones ? &source : NULL, err);
}

clarke_status
clarke_derive_prove(const clarke_derive_session *s, const clarke_derivation *d, const char *path, clarke_error *err)
{
  const clarke_proof_tree tree = {&s->cones, clarke_regions_proof_tree};

  if (!s->network)
    return clarke_proof_write_program(path, s->program.file, s->sha256, d, &tree, err);
  return clarke_proof_write_network(path, &(clarke_proof_input){s->program.file, s->sha256, s->output}, d, &tree, err);
}
