#include "step/judge_inside.h"
#include "exact/upward.h"
#include "step/single_adafactor.h"
#include "step/single_muon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tensor's recorded numbers, or where the rule begins: 0. */
static clarke_status
begin(clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_status status = clarke_shape_check(&t->shape, q->rule, err);

  memset(w, 0, sizeof *w);
  if (status == CLARKE_OK)
    status = clarke_whole_init(w, &t->shape, q->rule, err);
  for (size_t i = 0; status == CLARKE_OK && i < t->n; i++)
    clarke_judge_set(&w->theta[i], t->theta[0][i]);
  for (int s = 0; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++)
    for (size_t i = 0; w->slot[s] != NULL && t->slot[0][s] != NULL && i < clarke_shape_count(&t->shape, s); i++)
      clarke_judge_set(&w->slot[s][i], t->slot[0][s][i]);
  return status;
}

static clarke_status
enclose(clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, const clarke_hypers *h, clarke_error *err)
{
  clarke_number *g = clarke_numbers(t->n);
  clarke_status status = g != NULL ? begin(w, q, t, err) : clarke_no_memory(err);

  for (size_t i = 0; status == CLARKE_OK && i < t->n; i++) {
    clarke_judge_set(&g[i], q->maximize ? -t->gradient[i] : t->gradient[i]);
    if (q->scale != NULL)
      mpq_div(g[i].q, g[i].q, q->scale);
  }
  if (status == CLARKE_OK)
    status = clarke_whole_step(w, q->rule, g, h, q->k, err);
  if (g != NULL)
    clarke_numbers_free(g, t->n);
  return status;
}

static double
before_of(const clarke_step_tensor *t, int slot, size_t i)
{
  return slot < 0 ? t->theta[0][i] : t->slot[0][slot] != NULL ? t->slot[0][slot][i] : 0;
}

static double
after_of(const clarke_step_tensor *t, int slot, size_t i)
{
  return slot < 0 ? t->theta[1][i] : t->slot[1][slot][i];
}

static const clarke_number *
number_of(const clarke_step_whole *w, int slot, size_t i)
{
  return slot < 0 ? &w->theta[i] : &w->slot[slot][i];
}

/* How far each part has moved at most. */
static void
measure_moves(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t)
{
  for (int s = -1; s < CLARKE_N_SLOTS; s++)
    for (size_t i = 0; clarke_judge_is_asked(q, t, s) && i < clarke_shape_count(&t->shape, s); i++)
      f->moved[1 + s] = fmax(f->moved[1 + s], fabs(after_of(t, s, i) - before_of(t, s, i)));
}

/* Counts a number; is: as clarke_judge_is_inside says. */
static clarke_status
count(clarke_step_finding *f, int is, int slot, size_t i, double recorded, const clarke_number *by_rule, clarke_error *err)
{
  f->within += is == 1 && slot < 0;
  f->wrong += is == 0;
  f->open += is < 0;
  if ((is == 0 && f->wrong == 1) || (is < 0 && f->wrong == 0 && f->open == 1))
    return clarke_judge_note(f, slot, i, recorded, by_rule, err);
  return CLARKE_OK;
}

/* --- within the bound --------------------------------------------------------------------------------------------- */

/* A part of the state, number by number. */
static clarke_status
compare_part(clarke_step_finding *f, const clarke_step_whole *w, int slot, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < clarke_shape_count(&t->shape, slot) && status == CLARKE_OK; i++) {
    const clarke_number *const x = number_of(w, slot, i);
    const int is = clarke_judge_is_inside(x, after_of(t, slot, i));

    if (is >= 0 && !clarke_judge_is_at_rest(x, before_of(t, slot, i), after_of(t, slot, i)))
      f->bound[1 + slot] = fmax(f->bound[1 + slot], clarke_up_by(2 * clarke_judge_radius(x), 0x1p12));
    status = count(f, is, slot, i, after_of(t, slot, i), x, err);
  }
  return status;
}

static clarke_status
compare_all(clarke_step_finding *f, const clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (int s = -1; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++)
    if (clarke_judge_is_asked(q, t, s) && clarke_shape_has(&t->shape, q->rule, s))
      status = compare_part(f, w, s, t, err);
  return status;
}

/* --- Muon: m, then theta given m ------------------------------------------------------------------------------------ */

typedef struct {
  clarke_span *theta;
  bool *point;
  size_t outside;
  bool known; /* else it may be anywhere */
} spans;

static clarke_status
spans_init(spans *s, size_t n, clarke_error *err)
{
  *s = (spans){.theta = calloc(n + 1, sizeof *s->theta), .point = calloc(n + 1, sizeof *s->point)};
  return s->theta != NULL && s->point != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
spans_clear(spans *s)
{
  free(s->theta);
  free(s->point);
}

static bool
is_outside(const spans *s, const clarke_step_tensor *t, size_t i)
{
  return t->theta[1][i] < s->theta[i].lo || t->theta[1][i] > s->theta[i].hi;
}

static void
find_spans(spans *s, const clarke_step_question *q, const clarke_step_tensor *t, unsigned way)
{
  s->known = clarke_muon_spans(s->theta, s->point, q, t, way);
  s->outside = 0;
  for (size_t i = 0; i < t->n; i++)
    s->outside += !s->known || is_outside(s, t, i);
}

/* The first way in which all entries are what the program gives; else the spans. */
static clarke_status
find_way(spans *best, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  spans s;
  clarke_status status = spans_init(&s, t->n, err);

  best->outside = t->n + 1;
  for (unsigned way = 0; way < CLARKE_MUON_WAYS && status == CLARKE_OK && best->outside > 0; way++) {
    find_spans(&s, q, t, way);
    if (s.outside == 0 || way == CLARKE_MUON_NEAREST) {
      const spans other = *best;

      *best = s;
      s = other;
    }
  }
  spans_clear(&s);
  return status;
}

/* An entry of m: a float's, or in what floats may make of the rule. */
static int
judge_average(const clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, size_t i, bool *bits)
{
  const double m = after_of(t, CLARKE_SLOT_M, i), rest = 1 - mpq_get_d(q->hypers->of[CLARKE_HYPER_MOMENTUM]);

  *bits = clarke_muon_is_lerp(q->dtype, before_of(t, CLARKE_SLOT_M, i), t->gradient[i], rest, m);
  return *bits ? 1 : clarke_judge_is_inside(&w->slot[CLARKE_SLOT_M][i], m);
}

/* theta, given m. 0: outside of what any library makes; -1: one that rounds otherwise than PyTorch's on a CPU may make it. */
static int
judge_parameter(const spans s[2], const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  if (s[0].known && !is_outside(&s[0], t, i))
    return 1;
  return !q->elsewhere && s[1].known && is_outside(&s[1], t, i) ? 0 : -1;
}

static clarke_status
judge_muon_entry(clarke_step_finding *f, const clarke_step_whole *w, const spans s[2], const clarke_step_question *q, const clarke_step_tensor *t,
                 size_t i, clarke_error *err)
{
  bool bits;
  const int of_m = judge_average(w, q, t, i, &bits), of_theta = judge_parameter(s, q, t, i);

  if (of_m != 1)
    return count(f, of_m, CLARKE_SLOT_M, i, after_of(t, CLARKE_SLOT_M, i), &w->slot[CLARKE_SLOT_M][i], err);
  if (of_theta != 1)
    return count(f, of_theta, -1, i, t->theta[1][i], &w->theta[i], err);
  if (bits && s[0].point[i]) {
    f->bits++;
    return CLARKE_OK;
  }
  if (!bits)
    f->bound[1 + CLARKE_SLOT_M] = fmax(f->bound[1 + CLARKE_SLOT_M], clarke_up_by(2 * clarke_judge_radius(&w->slot[CLARKE_SLOT_M][i]), 0x1p12));
  f->bound[0] = fmax(f->bound[0], s[0].theta[i].hi - s[0].theta[i].lo);
  return count(f, 1, -1, i, t->theta[1][i], &w->theta[i], err);
}

static clarke_status
judge_muon(clarke_step_finding *f, const clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  spans s[2] = {{.theta = NULL}, {.theta = NULL}}; /* PyTorch's on a CPU; all libraries' */
  clarke_status status = spans_init(&s[0], t->n, err);

  if (status == CLARKE_OK)
    status = spans_init(&s[1], t->n, err);
  if (status == CLARKE_OK)
    status = find_way(&s[0], q, t, err);
  if (status == CLARKE_OK && s[0].outside > 0)
    find_spans(&s[1], q, t, CLARKE_MUON_COARSE);
  for (size_t i = 0; i < t->n && status == CLARKE_OK; i++)
    status = judge_muon_entry(f, w, s, q, t, i, err);
  spans_clear(&s[0]);
  spans_clear(&s[1]);
  return status;
}

/* --- Adafactor: bit for bit, or within the bound ------------------------------------------------------------------- */

/* Numbers that are outside: are they so, too, where sums and products are rounded coarsely? Else they are open. */
static clarke_status
doubt(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_step_whole w;
  clarke_step_finding coarse = {.wrong = 0};
  clarke_hypers h = *q->hypers;
  clarke_error why = {CLARKE_OK, ""};
  clarke_status status;

  h.rounding.coarse = true;
  h.rounding.short_factors = q->short_factors;
  status = enclose(&w, q, t, &h, &why);
  if (status == CLARKE_OK)
    status = compare_all(&coarse, &w, q, t, err);
  else
    status = status == CLARKE_EVAGUE ? CLARKE_OK : clarke_fail(err, status, "%s", why.text);
  if (status == CLARKE_OK) {
    f->open += f->wrong - coarse.wrong;
    f->wrong = coarse.wrong;
    if (coarse.wrong > 0)
      status = clarke_judge_note(f, coarse.slot, coarse.entry, coarse.recorded, number_of(&w, coarse.slot, coarse.entry), err);
  }
  clarke_step_finding_clear(&coarse);
  clarke_whole_clear(&w);
  return status;
}

static clarke_status
judge_adafactor(clarke_step_finding *f, const clarke_step_whole *w, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (clarke_adafactor_is_program(q, t))
    f->bits += t->n;
  else
    status = compare_all(f, w, q, t, err);
  return status == CLARKE_OK && f->wrong > 0 ? doubt(f, q, t, err) : status;
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

clarke_status
clarke_judge_whole(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err)
{
  clarke_step_whole w;
  clarke_error why = {CLARKE_OK, ""};
  clarke_status status = enclose(&w, q, t, q->hypers, &why);

  if (status == CLARKE_OK) {
    measure_moves(f, q, t);
    status = strcmp(q->rule->name, "torch-muon") == 0 ? judge_muon(f, &w, q, t, err) : judge_adafactor(f, &w, q, t, err);
  } else if (status == CLARKE_EVAGUE)
    status = count(f, -1, -1, 0, t->theta[1][0], NULL, err);
  else
    status = clarke_fail(err, status, "%s", why.text);
  clarke_whole_clear(&w);
  return status;
}

/* Are all gradients 0? Then a number that is 0, and stays so, is the rule's exactly. */
static bool
is_dead(const clarke_step_tensor *t)
{
  bool zeros = true;

  for (size_t k = 0; k < t->n && zeros; k++)
    zeros = t->gradient[k] == 0;
  return zeros;
}

clarke_status
clarke_judge_whole_distances(double far[1 + CLARKE_N_SLOTS], const clarke_step_question *q, const clarke_step_tensor *t, const clarke_hypers *h,
                             clarke_error *err)
{
  const bool dead = is_dead(t);
  clarke_step_whole w;
  clarke_status status = enclose(&w, q, t, h, err);

  memset(far, 0, (1 + CLARKE_N_SLOTS) * sizeof *far);
  for (int s = -1; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++)
    for (size_t i = 0; clarke_judge_is_asked(q, t, s) && clarke_shape_has(&t->shape, q->rule, s) && i < clarke_shape_count(&t->shape, s); i++)
      if (!dead || before_of(t, s, i) != 0 || after_of(t, s, i) != 0)
        far[1 + s] = fmax(far[1 + s], clarke_judge_distance(number_of(&w, s, i), after_of(t, s, i)));
  clarke_whole_clear(&w);
  return status;
}
