/* clarke cost --json. */
#include "cost_report.h"

#include "session/json.h"

#include <stdlib.h>
#include <string.h>

json_t *
clarke_cost_whole(const mpz_t n)
{
  char *text;
  json_t *j;
  void (*release)(void *, size_t);

  if (mpz_fits_slong_p(n))
    return json_integer((json_int_t)mpz_get_si(n));
  text = mpz_get_str(NULL, 10, n);
  j = json_string(text);
  mp_get_memory_functions(NULL, NULL, &release);
  release(text, strlen(text) + 1);
  return j;
}

static void
set_numbers(json_t **j, const clarke_cost_numbers *n)
{
  clarke_json_set(j, "cost", json_string(n->cost));
  clarke_json_set(j, "backward", json_string(n->backward));
  clarke_json_set(j, "forward_mode", json_string(n->forward_mode));
  clarke_json_set(j, "ratio", json_string(n->ratio));
  clarke_json_set(j, "forward_ratio", json_string(n->forward_ratio));
  clarke_json_set(j, "omega", json_string(n->omega));
  clarke_json_set(j, "omega_forward", json_string(n->omega_forward));
}

/* The numbers of a count, into *j; with letters under a key of their own. */
static clarke_status
set_count(json_t **j, const clarke_count *c, const mpz_t p, const clarke_cost_report *r, clarke_error *err)
{
  clarke_cost_numbers n = {0}, letters = {0};
  clarke_status status = clarke_cost_numbers_find(&n, c, p, &r->prices, false, err);
  json_t *symbolic = json_object();

  if (status == CLARKE_OK)
    status = clarke_cost_numbers_find(&letters, c, p, &r->prices, true, err);
  if (status == CLARKE_OK) {
    set_numbers(j, &n);
    set_numbers(&symbolic, &letters);
    clarke_json_set(j, "symbolic", symbolic);
  } else
    json_decref(symbolic);
  clarke_cost_numbers_clear(&n);
  clarke_cost_numbers_clear(&letters);
  return status;
}

static json_t *
operations_json(const clarke_operations *o)
{
  static const char *const names[CLARKE_N_OPERATIONS] = {"additions", "multiplications", "nonlinear", "signs"};
  json_t *j = json_object();

  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    if (o->of[k] > 0)
      clarke_json_set(&j, names[k], json_integer((json_int_t)o->of[k]));
  return j;
}

static json_t *
functions_json(const clarke_count *c)
{
  json_t *list = json_array();

  for (size_t i = 0; i < c->n; i++) {
    const clarke_elementary *e = &c->row[i].what;
    json_t *j = json_object();

    clarke_json_set(&j, "function", json_string(e->name));
    clarke_json_set(&j, "times", clarke_cost_whole(c->row[i].times));
    clarke_json_set(&j, "predecessors", json_integer((json_int_t)e->arguments));
    clarke_json_set(&j, "cost", operations_json(&e->cost));
    clarke_json_set(&j, "cost_gd", operations_json(&e->joint));
    clarke_json_append(&list, j);
  }
  return list;
}

static void
set_flop(json_t **j, const clarke_layer_cost *l)
{
  static const struct {
    const char *key;
    clarke_quantities q;
    bool padding;
  } backward[] = {
    {"flop_backward", CLARKE_PARAMETERS_ALONE, true}, {"flop_backward_with_input", CLARKE_WITH_INPUT, true},
    {"flop_backward_without_padding", CLARKE_PARAMETERS_ALONE, false},
    {"flop_backward_with_input_without_padding", CLARKE_WITH_INPUT, false},
  };
  mpz_t n;

  mpz_init(n);
  clarke_layer_products(n, l);
  clarke_json_set(j, "mac", clarke_cost_whole(n));
  clarke_layer_flop(n, l, true);
  clarke_json_set(j, "flop", clarke_cost_whole(n));
  clarke_layer_flop(n, l, false);
  clarke_json_set(j, "flop_without_padding", clarke_cost_whole(n));
  for (size_t k = 0; k < sizeof backward / sizeof *backward; k++) {
    clarke_layer_flop_backward(n, l, backward[k].q, backward[k].padding);
    clarke_json_set(j, backward[k].key, clarke_cost_whole(n));
  }
  mpz_clear(n);
}

static json_t *
terms_json(const clarke_layer_cost *l)
{
  json_t *j = json_object();

  for (int t = 0; t < CLARKE_N_TERMS; t++)
    if (mpz_sgn(l->term[t]) != 0)
      clarke_json_set(&j, clarke_term_name((clarke_term)t), clarke_cost_whole(l->term[t]));
  return j;
}

static clarke_status
layer_json(json_t **list, const clarke_layer_cost *l, const clarke_cost_report *r, const mpz_t p, clarke_error *err)
{
  json_t *j = json_object(), *constant = json_object();
  clarke_status status;

  if (l->name != NULL) {
    clarke_json_set(&j, "name", clarke_json_text(l->name));
    clarke_json_set(&j, "op", json_string(l->op->name));
  }
  set_flop(&j, l);
  clarke_json_set(&j, "terms", terms_json(l));
  status = set_count(&j, &l->count[CLARKE_WITH_INPUT], p, r, err);
  if (status == CLARKE_OK)
    status = set_count(&constant, &l->count[CLARKE_PARAMETERS_ALONE], p, r, err);
  clarke_json_set(&j, "input_constant", constant);
  if (status == CLARKE_OK)
    clarke_json_append(list, j);
  else
    json_decref(j);
  return status;
}

static clarke_status
set_network(json_t **j, const clarke_cost_report *r, clarke_error *err)
{
  const clarke_network_cost *c = &r->session.cost;
  json_t *layers = json_array(), *constant = json_object();
  clarke_status status = CLARKE_OK;
  mpz_t n, p;

  mpz_inits(n, p, NULL);
  set_flop(j, &c->total);
  mpz_mul_ui(n, c->parameters, 6);
  mpz_mul_ui(n, n, r->tokens > 0 ? r->tokens : c->samples);
  clarke_json_set(j, "six_nd", clarke_cost_whole(n));
  clarke_json_set(j, "parameters", clarke_cost_whole(c->parameters));
  clarke_json_set(j, "samples", json_integer((json_int_t)c->samples));
  clarke_json_set(j, "terms", terms_json(&c->total));
  clarke_cost_session_entries(p, &r->session, CLARKE_PARAMETERS_ALONE);
  status = set_count(&constant, &c->total.count[CLARKE_PARAMETERS_ALONE], p, r, err);
  clarke_json_set(j, "input_constant", constant);
  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++)
    status = layer_json(&layers, &c->layer[i], r, p, err);
  clarke_json_set(j, "layers", layers);
  mpz_clears(n, p, NULL);
  return status;
}

/* A program has no products that counters know: its own multiplications and additions stand there. */
static void
set_program(json_t **j, const clarke_cost_report *r)
{
  clarke_amount a;
  mpz_t flop;

  clarke_amount_init(&a);
  clarke_count_cost(&a, &r->session.count);
  mpz_init_set(flop, a.of[CLARKE_ADDITION]);
  for (int k = 1; k < CLARKE_N_OPERATIONS; k++)
    mpz_add(flop, flop, a.of[k]);
  clarke_json_set(j, "mac", clarke_cost_whole(a.of[CLARKE_MULTIPLICATION]));
  clarke_json_set(j, "flop", clarke_cost_whole(flop));
  clarke_json_set(j, "flop_without_padding", clarke_cost_whole(flop));
  clarke_json_set(j, "layers", json_array());
  mpz_clear(flop);
  clarke_amount_clear(&a);
}

static void
set_linear_relu(json_t **j, const clarke_cost_report *r)
{
  clarke_linear_relu net;
  json_t *found = json_object();

  clarke_linear_relu_init(&net);
  clarke_linear_relu_find(&net, &r->session.count, clarke_code_entries(&r->session.program));
  clarke_json_set(&found, "memory", json_integer((json_int_t)net.memory));
  clarke_json_set(&found, "layers", json_integer((json_int_t)net.layers));
  clarke_json_set(&found, "size", clarke_cost_whole(net.size));
  clarke_json_set(&found, "bound", clarke_cost_whole(net.bound));
  clarke_json_set(&found, "edge_products", json_integer((json_int_t)(net.layers * (net.layers + 1))));
  clarke_json_set(&found, "edge_products_bound", json_integer((json_int_t)(4 * (net.layers + 1) * (net.layers + 1))));
  if (net.is)
    clarke_json_set(j, "linear_relu_network", found);
  else
    json_decref(found);
  clarke_linear_relu_clear(&net);
}

static json_t *
prices_json(const clarke_prices *p)
{
  static const char *const names[CLARKE_N_OPERATIONS] = {"c_plus", "c_times", "c_nl", "c_R"};
  json_t *j = json_object();

  for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
    char *text = p->given[k] ? clarke_price_text(p->of[k]) : NULL;

    clarke_json_set(&j, names[k], p->given[k] ? json_string(text) : json_null());
    free(text);
  }
  return j;
}

static json_t *
tally_json(const clarke_tally *t)
{
  json_t *j = json_object();

  clarke_json_set(&j, "additions", json_integer((json_int_t)t->additions));
  clarke_json_set(&j, "multiplications", json_integer((json_int_t)t->multiplications));
  clarke_json_set(&j, "functions", json_integer((json_int_t)t->functions));
  return j;
}

static json_t *
run_json(const clarke_cost_run *run)
{
  json_t *j = json_object();

  clarke_json_set(&j, "forward", tally_json(&run->forward));
  clarke_json_set(&j, "backward", tally_json(&run->backward));
  return j;
}

clarke_status
clarke_cost_json(const clarke_cost_report *r, clarke_error *err)
{
  const clarke_count *c = clarke_cost_session_count(&r->session, CLARKE_WITH_INPUT);
  json_t *j = json_object();
  clarke_status status;
  mpz_t p;

  mpz_init(p);
  clarke_cost_session_entries(p, &r->session, CLARKE_WITH_INPUT);
  if (r->against.n > 0)
    clarke_json_set(&j, "explained", json_boolean(r->against.explained));
  clarke_json_set(&j, "file", clarke_json_text(r->session.name));
  clarke_json_set(&j, "mode", json_string(r->forward ? "forward" : "backward"));
  clarke_json_set(&j, "prices", prices_json(&r->prices));
  clarke_json_set(&j, "entries", clarke_cost_whole(p));
  status = set_count(&j, c, p, r, err);
  clarke_json_set(&j, "functions", functions_json(c));
  mpz_clear(p);
  if (status == CLARKE_OK && r->session.network)
    status = set_network(&j, r, err);
  else if (status == CLARKE_OK) {
    set_program(&j, r);
    set_linear_relu(&j, r);
  }
  if (r->ran)
    clarke_json_set(&j, "run", run_json(&r->run));
  if (status == CLARKE_OK && r->against.n > 0)
    clarke_json_set(&j, "against", clarke_against_json(&r->against, &r->session.cost.total));
  if (status == CLARKE_OK && r->table != NULL)
    status = clarke_cost_table_json(&j, r->table, &r->prices, err);
  if (status == CLARKE_OK)
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  json_decref(j);
  return status;
}
