#include "reproduce_keys.h"
#include "reproduce_line.h"
#include "reproduce_network.h"
#include "reproduce_suite.h"
#include "reproduce_sweep.h"
#include "reproduce_training.h"

#include "exact/cone.h"
#include "program/ieee.h"
#include "program/rounded.h"
#include "program/rational.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a Jacobian of m outputs; one output: no rows. */
static size_t
row_width(const clarke_run *r)
{
  return r->p->n_outputs > 1 ? clarke_code_wrt_count(r->p) : 0;
}

static clarke_status
find_value(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_number *x;

  if (r->d.execution.open)
    return clarke_result_word(result, "unknown", err);
  x = clarke_numbers(r->p->n_outputs);
  for (size_t i = 0; x != NULL && i < r->p->n_outputs; i++)
    clarke_number_set(&x[i], &r->d.execution.value[r->p->output[i]]);
  return clarke_result_numbers(result, x, r->p->n_outputs, 0, err);
}

static clarke_status
find_ad(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_number *x;

  if (r->d.ad == NULL || r->d.execution.open)
    return clarke_result_word(result, "unknown", err);
  x = clarke_numbers(r->d.dim);
  for (size_t i = 0; x != NULL && i < r->d.dim; i++)
    clarke_number_set(&x[i], &r->d.ad[i]);
  return clarke_result_numbers(result, x, r->d.dim, row_width(r), err);
}

static clarke_status
find_set(clarke_result *result, const clarke_run *r, const clarke_points *s, bool known,
         clarke_error *err)
{
  return known ? clarke_result_set(result, s, row_width(r), err) : clarke_result_word(result, "unknown", err);
}

static clarke_status
find_bouligand(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_set(result, r, &r->d.bouligand, r->d.sets_known, err);
}

static clarke_status
find_clarke(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_set(result, r, &r->d.clarke, r->d.sets_known, err);
}

static clarke_status
find_conservative(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_conservative *c = &r->d.conservative;

  return find_set(result, r, &c->vertices, c->known && c->enumerated, err);
}

static clarke_status
find_singleton(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_conservative *c = &r->d.conservative;

  return clarke_result_truth(result,
                !c->known && !c->singleton_known ? CLARKE_UNKNOWN
                : c->singleton                   ? CLARKE_YES
                                                 : CLARKE_NO,
                err);
}

static clarke_status
find_selection(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  return find_set(result, r, &p->selection, p->declared && p->selection_known, err);
}

static clarke_status
find_associated(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  if (!p->declared || p->associated == NULL)
    return clarke_result_word(result, "unknown", err);
  return clarke_result_rationals(result, p->associated, clarke_code_wrt_count(r->p), row_width(r), err);
}

static clarke_status
find_representation(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  const clarke_representation *p = &r->d.representation;

  return clarke_result_truth(result,
                !p->declared || p->answer == CLARKE_REPRESENTS_UNKNOWN ? CLARKE_UNKNOWN
                : p->answer == CLARKE_REPRESENTS                       ? CLARKE_YES
                                                                       : CLARKE_NO,
                err);
}

static clarke_status
find_differentiable(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return clarke_result_truth(result, r->d.differentiable, err);
}

static clarke_status
find_zone(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return clarke_result_word(result, clarke_zone_name(r->d.zone), err);
}

static clarke_status
find_least(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  if (!r->d.least_known)
    return clarke_result_word(result, "unknown", err);
  return clarke_result_rationals(result, r->d.least, r->d.dim, row_width(r), err);
}

static clarke_status
find_verdict(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return clarke_result_word(result, clarke_verdict_name(r->d.verdict), err);
}

static clarke_status
find_touched(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return r->d.execution.open ? clarke_result_word(result, "unknown", err)
                             : clarke_result_count(result, r->d.execution.n_touched, err);
}

static clarke_status
find_instructions(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t n = 0;

  for (size_t i = 0; i < r->p->n; i++)
    n += r->p->instruction[i].kind != CLARKE_DO_INPUT
         && r->p->instruction[i].kind != CLARKE_DO_CONSTANT;
  return clarke_result_count(result, n, err);
}

/* Pointwise functions with kinks by their layer: how many of them are on the longest path to one,
 * itself counted. widths[l - 1] of layer l; *layers is how many there are. */
static long *
layer_widths(size_t *layers, const clarke_code *p)
{
  size_t *layer = calloc(p->n + 1, sizeof *layer);
  long *width = calloc(p->n + 1, sizeof *width);

  *layers = 0;
  for (size_t i = 0; layer != NULL && width != NULL && i < p->n; i++) {
    const clarke_instruction *in = &p->instruction[i];

    for (size_t k = 0; k < in->n_in; k++)
      layer[i] = layer[in->in[k]] > layer[i] ? layer[in->in[k]] : layer[i];
    if (in->kind == CLARKE_DO_PIECEWISE || in->kind == CLARKE_DO_ELU)
      width[layer[i]++]++;
    *layers = layer[i] > *layers ? layer[i] : *layers;
  }
  if (layer == NULL) {
    free(width);
    width = NULL;
  }
  free(layer);
  return width;
}

static clarke_status
find_widths(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t n;
  long *width = layer_widths(&n, r->p);
  clarke_number *x = width != NULL ? clarke_numbers(n) : NULL;

  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_set_si(&x[i], width[i]);
  free(width);
  return clarke_result_numbers(result, x, n, 0, err);
}

static clarke_status
find_coefficients(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_points s;
  clarke_status status = CLARKE_OK;

  clarke_points_init(&s, 1);
  for (size_t i = 0; i < r->p->n && status == CLARKE_OK; i++) {
    const clarke_instruction *in = &r->p->instruction[i];

    for (size_t k = 0; in->kind == CLARKE_DO_LINEAR && k < in->n_in && status == CLARKE_OK; k++)
      status = clarke_points_add(&s, &in->coef[k], err);
  }
  if (status == CLARKE_OK)
    status = clarke_result_set(result, &s, 0, err);
  clarke_points_clear(&s);
  return status;
}

/* Row i of AD's Jacobian times the least common denominator of its entries. */
static void
integer_row(fmpz_mat_t a, size_t i, const clarke_number *row, size_t n)
{
  mpz_t scale, x;

  mpz_init_set_ui(scale, 1);
  mpz_init(x);
  for (size_t k = 0; k < n; k++)
    mpz_lcm(scale, scale, mpq_denref(row[k].q));
  for (size_t k = 0; k < n; k++) {
    mpz_divexact(x, scale, mpq_denref(row[k].q));
    mpz_mul(x, x, mpq_numref(row[k].q));
    fmpz_set_mpz(fmpz_mat_entry(a, (slong)i, (slong)k), x);
  }
  mpz_clear(scale);
  mpz_clear(x);
}

/* Is there a direction along which every output increases to first order? (With s_i y_i and the
 * differences of tied entries as outputs: is P_l of Park et al., Algorithm 1, not empty?) */
static clarke_status
find_ascent(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  size_t m = r->p->n_outputs, n = clarke_code_wrt_count(r->p);
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  if (!r->d.ad_exact || r->d.ad == NULL)
    return clarke_result_word(result, "unknown", err);
  fmpz_mat_init(a, (slong)m, (slong)n);
  clarke_cone_init(&cone);
  for (size_t i = 0; i < m; i++)
    integer_row(a, i, &r->d.ad[i * n], n);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  if (status == CLARKE_OK)
    status = clarke_result_truth(result,
                    cone.answer == CLARKE_CONE_FEASIBLE ? CLARKE_YES
                    : cone.answer == CLARKE_CONE_EMPTY  ? CLARKE_NO
                                                        : CLARKE_UNKNOWN,
                    err);
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* --- costs ----------------------------------------------------------------------------------- */

static clarke_status
one_rational(clarke_result *result, mpq_t q, clarke_error *err)
{
  clarke_number *x = clarke_numbers(1);

  if (x != NULL)
    clarke_number_set_q(x, q);
  return clarke_result_numbers(result, x, 1, 0, err);
}

typedef enum { OF_COST, OF_BACKWARD, OF_FORWARD } amount_kind;

static void
set_amount(clarke_amount *a, const clarke_run *r, amount_kind kind)
{
  mpz_t p;

  mpz_init_set_ui(p, clarke_code_wrt_count(r->p));
  if (kind == OF_FORWARD)
    clarke_count_forward(a, &r->count, p);
  else
    (kind == OF_COST ? clarke_count_cost : clarke_count_backward)(a, &r->count);
  mpz_clear(p);
}

/* The price of one amount; the ratio of two, or of a cost and so many products more. */
static clarke_status
find_price(clarke_result *result, const clarke_run *r, amount_kind above, bool over_cost, size_t products, clarke_error *err)
{
  clarke_amount a, b;
  clarke_status status;
  bool is = true;
  mpq_t q;

  mpq_init(q);
  clarke_amount_init(&a);
  clarke_amount_init(&b);
  set_amount(&a, r, above);
  set_amount(&b, r, OF_COST);
  mpz_add_ui(a.of[CLARKE_MULTIPLICATION], a.of[CLARKE_MULTIPLICATION], products);
  if (over_cost)
    is = clarke_amount_ratio(q, &a, &b, &r->prices);
  else
    clarke_amount_price(q, &a, &r->prices);
  status = is ? one_rational(result, q, err) : clarke_result_word(result, "unbounded", err);
  clarke_amount_clear(&a);
  clarke_amount_clear(&b);
  mpq_clear(q);
  return status;
}

static clarke_status
find_cost(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_price(result, r, OF_COST, false, 0, err);
}

static clarke_status
find_backward(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_price(result, r, OF_BACKWARD, false, 0, err);
}

static clarke_status
find_forward(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_price(result, r, OF_FORWARD, false, 0, err);
}

static clarke_status
find_ratio(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_price(result, r, OF_BACKWARD, true, 0, err);
}

/* The program taken for one elementary function g with cost(gd) = cost(g), as the thesis takes norms and pooling (2.7.3). */
static clarke_status
find_as_one(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_price(result, r, OF_COST, true, 2 * clarke_code_wrt_count(r->p), err);
}

/* The share cx |pr| / cost(g). */
static clarke_status
find_share(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_amount a, b;
  clarke_status status;
  mpq_t q;

  mpq_init(q);
  clarke_amount_init(&a);
  clarke_amount_init(&b);
  mpz_set_ui(a.of[CLARKE_MULTIPLICATION], clarke_code_wrt_count(r->p));
  set_amount(&b, r, OF_COST);
  status = clarke_amount_ratio(q, &a, &b, &r->prices) ? one_rational(result, q, err) : clarke_result_word(result, "unbounded", err);
  clarke_amount_clear(&a);
  clarke_amount_clear(&b);
  mpq_clear(q);
  return status;
}

static clarke_status
find_bound(clarke_result *result, const clarke_run *r, bool forward, clarke_error *err)
{
  clarke_status status;
  bool is;
  mpz_t p;
  mpq_t q;

  mpz_init_set_ui(p, clarke_code_wrt_count(r->p));
  mpq_init(q);
  is = forward ? clarke_count_omega_forward(q, &r->count, p, &r->prices) : clarke_count_omega(q, &r->count, &r->prices);
  status = is ? one_rational(result, q, err) : clarke_result_word(result, "unbounded", err);
  mpq_clear(q);
  mpz_clear(p);
  return status;
}

static clarke_status
find_omega(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_bound(result, r, false, err);
}

static clarke_status
find_omega_forward(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_bound(result, r, true, err);
}

/* The network of (2.13): m, and its size. */
static clarke_status
find_linear_relu(clarke_result *result, const clarke_run *r, bool size, clarke_error *err)
{
  clarke_linear_relu net;
  clarke_status status;

  clarke_linear_relu_init(&net);
  clarke_linear_relu_find(&net, &r->count, clarke_code_wrt_count(r->p));
  status = net.is ? clarke_result_count(result, size ? mpz_get_ui(net.size) : net.memory, err) : clarke_result_word(result, "none", err);
  clarke_linear_relu_clear(&net);
  return status;
}

static clarke_status
find_memory(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_linear_relu(result, r, false, err);
}

static clarke_status
find_size(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return find_linear_relu(result, r, true, err);
}

static clarke_status
find_vanishes(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  clarke_truth vanishes = CLARKE_UNKNOWN;
  const clarke_status status = clarke_code_vanishes(&vanishes, r->p, err);

  return status == CLARKE_OK ? clarke_result_truth(result, vanishes, err) : status;
}

/* derived: it takes more than an execution and AD. */
static const struct {
  const char *key;
  bool derived;
  clarke_status (*find)(clarke_result *result, const clarke_run *r, clarke_error *err);
} keys[] = {
  {"value", false, find_value},
  {"ad", false, find_ad},
  {"bouligand", true, find_bouligand},
  {"clarke", true, find_clarke},
  {"conservative", true, find_conservative},
  {"conservative-singleton", true, find_singleton},
  {"selection", true, find_selection},
  {"associated", true, find_associated},
  {"representation", true, find_representation},
  {"differentiable", true, find_differentiable},
  {"zone", true, find_zone},
  {"least", true, find_least},
  {"verdict", true, find_verdict},
  {"touched", false, find_touched},
  {"vanishes", false, find_vanishes},
  {"instructions", false, find_instructions},
  {"widths", false, find_widths},
  {"coefficients", false, find_coefficients},
  {"ascent", false, find_ascent},
  {"cost", false, find_cost},
  {"backward", false, find_backward},
  {"forward-mode", false, find_forward},
  {"ratio", false, find_ratio},
  {"omega", false, find_omega},
  {"omega-forward", false, find_omega_forward},
  {"omega-as-one", false, find_as_one},
  {"share-as-one", false, find_share},
  {"memory", false, find_memory},
  {"linear-relu-size", false, find_size},
};

#define N_KEYS (sizeof keys / sizeof keys[0])

/* FORMAT-ad or FORMAT-value: the format, and whether it is ad. */
static bool
float_key(clarke_ieee *format, bool *ad, const char *key)
{
  const char *dash = strchr(key, '-');
  char name[16];

  if (dash == NULL || (size_t)(dash - key) >= sizeof name)
    return false;
  memcpy(name, key, (size_t)(dash - key));
  name[dash - key] = '\0';
  *ad = strcmp(dash, "-ad") == 0;
  return (*ad || strcmp(dash, "-value") == 0)
         && clarke_ieee_parse(format, name, NULL) == CLARKE_OK;
}

bool
clarke_fact_key_known(const char *key, clarke_check_kind kind)
{
  clarke_ieee format;
  bool ad;

  if (kind != CLARKE_CHECK_AT)
    return kind == CLARKE_CHECK_NETWORK ? clarke_network_key_known(key)
           : kind == CLARKE_CHECK_LINE  ? clarke_line_key_known(key)
           : kind == CLARKE_CHECK_SWEEP ? clarke_sweep_key_known(key)
           : kind == CLARKE_CHECK_TRAINING ? clarke_training_key_known(key)
                                        : clarke_suite_key_known(key);
  for (size_t i = 0; i < N_KEYS; i++)
    if (strcmp(keys[i].key, key) == 0)
      return true;
  return float_key(&format, &ad, key);
}

static clarke_status
find_rounded(clarke_result *result, const clarke_run *r, clarke_ieee format, bool ad,
             clarke_error *err)
{
  clarke_rounded f;
  clarke_status status;

  clarke_rounded_init(&f);
  status = clarke_rounded_run(&f, r->p, r->at, format, &r->profile, err);
  if (status == CLARKE_OK)
    status = ad ? clarke_result_doubles(result, f.gradient, f.n_gradient, row_width(r), err)
                : clarke_result_doubles(result, f.value, f.n_values, 0, err);
  clarke_rounded_clear(&f);
  return status;
}

clarke_status
clarke_result_find(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  clarke_ieee format;
  bool ad;

  if (r->line != NULL)
    return clarke_line_result(result, r, key, err);
  if (r->network != NULL)
    return clarke_network_result(result, r, key, err);
  if (r->counts != NULL)
    return clarke_suite_result(result, r, key, err);
  if (r->sweep != NULL)
    return clarke_sweep_result(result, r, key, err);
  if (r->training != NULL)
    return clarke_training_result(result, r, key, err);
  for (size_t i = 0; i < N_KEYS; i++)
    if (strcmp(keys[i].key, key) == 0)
      return keys[i].find(result, r, err);
  if (float_key(&format, &ad, key))
    return find_rounded(result, r, format, ad, err);
  return clarke_fail(err, CLARKE_EINTERNAL, "no such key: %s", key);
}

bool
clarke_fact_derived(const char *key)
{
  for (size_t i = 0; i < N_KEYS; i++)
    if (strcmp(keys[i].key, key) == 0)
      return keys[i].derived;
  return false;
}
