/* What clarke cost prints. */
#include "cost_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static clarke_status
print_function(const clarke_counted *row, const clarke_prices *prices, clarke_error *err)
{
  const clarke_elementary *e = &row->what;
  clarke_count one;
  clarke_amount cost, joint;
  char *texts[3] = {NULL};
  clarke_status status;
  mpz_t once;

  clarke_count_init(&one);
  clarke_amount_init(&cost);
  clarke_amount_init(&joint);
  mpz_init_set_ui(once, 1);
  clarke_amount_add(&cost, &e->cost, once);
  clarke_amount_add(&joint, &e->joint, once);
  texts[0] = clarke_amount_text(&cost, prices);
  texts[1] = clarke_amount_text(&joint, prices);
  status = clarke_count_add(&one, e, 1, err);
  texts[2] = status == CLARKE_OK ? clarke_count_omega_text(&one, prices) : NULL;
  if (texts[0] == NULL || texts[1] == NULL || texts[2] == NULL)
    status = clarke_no_memory(err);
  else
    gmp_printf("  %-16s %12Zd %5zu  %-22s %-22s %s\n", e->name, row->times, e->arguments, texts[0], texts[1], texts[2]);
  for (int k = 0; k < 3; k++)
    free(texts[k]);
  mpz_clear(once);
  clarke_amount_clear(&cost);
  clarke_amount_clear(&joint);
  clarke_count_clear(&one);
  return status;
}

static clarke_status
print_functions(const clarke_count *c, const clarke_prices *prices, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  printf("  %-16s %12s %5s  %-22s %-22s %s\n", "function", "times", "|pr|", "cost(g)", "cost(gd)", "omega");
  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++)
    status = print_function(&c->row[i], prices, err);
  return status;
}

/* A number with its letters; and what it is where these are 1. */
static void
print_line(const char *name, const char *letters, const char *number, bool asked)
{
  if (!asked)
    return;
  if (letters != NULL && strcmp(letters, number) != 0)
    printf("  %-34s %s; %s at c_nl = c_R = 1\n", name, letters, number);
  else
    printf("  %-34s %s\n", name, number);
}

static clarke_status
print_numbers(const clarke_count *c, const mpz_t p, const clarke_cost_report *r, clarke_error *err)
{
  clarke_cost_numbers n = {0}, letters = {0};
  clarke_status status = clarke_cost_numbers_find(&n, c, p, &r->prices, false, err);

  if (status == CLARKE_OK)
    status = clarke_cost_numbers_find(&letters, c, p, &r->prices, true, err);
  if (status == CLARKE_OK) {
    print_line("cost(P)", letters.cost, n.cost, true);
    print_line("cost(backprop(P))        (2.10)", letters.backward, n.backward, !r->forward);
    print_line("ratio", letters.ratio, n.ratio, !r->forward);
    print_line("omega_b, no ratio is more (2.5)", letters.omega, n.omega, !r->forward);
    gmp_printf(r->forward ? "  %-34s %Zd\n" : "", "p, entries differentiated in", p);
    print_line("cost(forprop(P))         (2.11)", letters.forward_mode, n.forward_mode, r->forward);
    print_line("ratio", letters.forward_ratio, n.forward_ratio, r->forward);
    print_line("omega_f, no ratio is more", NULL, n.omega_forward, r->forward);
  }
  clarke_cost_numbers_clear(&n);
  clarke_cost_numbers_clear(&letters);
  return status;
}

/* --- networks ------------------------------------------------------------------------------------------ */

static void
print_columns(const char *name, const char *op, const clarke_layer_cost *l)
{
  mpz_t n[5];

  for (int k = 0; k < 5; k++)
    mpz_init(n[k]);
  clarke_layer_products(n[0], l);
  clarke_layer_flop(n[1], l, true);
  clarke_layer_flop(n[2], l, false);
  clarke_layer_flop_backward(n[3], l, CLARKE_PARAMETERS_ALONE, true);
  clarke_layer_flop_backward(n[4], l, CLARKE_WITH_INPUT, true);
  gmp_printf("  %-24.24s %-18.18s %12Zd %13Zd %13Zd %13Zd %13Zd\n", name, op, n[0], n[1], n[2], n[3], n[4]);
  for (int k = 0; k < 5; k++)
    mpz_clear(n[k]);
}

/* The layers of an operator, added up: once for each. */
static void
print_operators(const clarke_network_cost *c)
{
  for (size_t i = 0; i < c->n; i++) {
    clarke_layer_cost sum = {.name = NULL};
    bool before = false;
    size_t n = 0;
    char name[32];

    for (size_t k = 0; k < i; k++)
      before = before || c->layer[k].op == c->layer[i].op;
    for (int t = 0; t < CLARKE_N_TERMS; t++)
      mpz_init(sum.term[t]);
    for (size_t k = i; k < c->n && !before; k++)
      if (c->layer[k].op == c->layer[i].op) {
        n++;
        for (int t = 0; t < CLARKE_N_TERMS; t++)
          mpz_add(sum.term[t], sum.term[t], c->layer[k].term[t]);
      }
    snprintf(name, sizeof name, "all %zu", n);
    if (!before && n > 1)
      print_columns(name, c->layer[i].op->name, &sum);
    for (int t = 0; t < CLARKE_N_TERMS; t++)
      mpz_clear(sum.term[t]);
  }
}

static void
print_layers(const clarke_cost_report *r)
{
  const clarke_network_cost *c = &r->session.cost;
  mpz_t n;

  printf("\n  %-24s %-18s %12s %13s %13s %13s %13s\n", "layer", "operator", "MAC", "FLOP", "no padding", "backward", "+ input's");
  for (size_t i = 0; i < c->n; i++)
    print_columns(c->layer[i].name, c->layer[i].op->name, &c->layer[i]);
  print_operators(c);
  print_columns("in all", "", &c->total);
  mpz_init(n);
  mpz_mul_ui(n, c->parameters, 6);
  mpz_mul_ui(n, n, r->tokens > 0 ? r->tokens : c->samples);
  gmp_printf("\n  6 N D: %Zd (N = %Zd parameters, D = %zu %s)\n", n, c->parameters, r->tokens > 0 ? r->tokens : c->samples,
             r->tokens > 0 ? "tokens" : c->samples == 1 ? "sample" : "samples");
  mpz_clear(n);
  printf("  Beside products:");
  for (int t = CLARKE_TERM_PADDING; t <= CLARKE_TERM_OUTPUTS; t++)
    if (mpz_sgn(c->total.term[t]) != 0)
      gmp_printf("\n    %-40s %Zd", clarke_term_name((clarke_term)t), c->total.term[t]);
  puts("");
}

static clarke_status
print_quantities(const clarke_cost_report *r, clarke_quantities q, const char *title, clarke_error *err)
{
  const clarke_count *c = clarke_cost_session_count(&r->session, q);
  clarke_status status;
  mpz_t p;

  mpz_init(p);
  clarke_cost_session_entries(p, &r->session, q);
  puts(title);
  status = print_functions(c, &r->prices, err);
  if (status == CLARKE_OK)
    status = print_numbers(c, p, r, err);
  mpz_clear(p);
  return status;
}

static void
print_linear_relu(const clarke_cost_report *r)
{
  clarke_linear_relu net;

  clarke_linear_relu_init(&net);
  clarke_linear_relu_find(&net, &r->session.count, clarke_code_entries(&r->session.program));
  if (net.is) {
    gmp_printf("  As a linear ReLU network (2.13): %zu layers of %zu, size %Zd; at most 18 cost^3 = %Zd\n", net.layers, net.memory, net.size,
               net.bound);
    printf("  Proposition 4's graph of it: %zu products of two matrices for all edges; at most 4 (L + 1)^2 = %zu\n", net.layers * (net.layers + 1),
           4 * (net.layers + 1) * (net.layers + 1));
  }
  clarke_linear_relu_clear(&net);
}

static void
print_tally(const char *name, const clarke_tally *t)
{
  printf("  %-34s %zu additions, %zu multiplications, %zu functions\n", name, t->additions, t->multiplications, t->functions);
}

static size_t
total(const clarke_tally *t)
{
  return t->additions + t->multiplications + t->functions;
}

static void
print_run(const clarke_cost_run *run)
{
  const size_t forward = total(&run->forward), both = forward + total(&run->backward);

  puts("\nOur own passes at the point, as run");
  print_tally("execution", &run->forward);
  print_tally("AD, backward", &run->backward);
  printf("  %-34s %zu / %zu\n", "both / execution", both, forward);
}

clarke_status
clarke_cost_text(const clarke_cost_report *r, clarke_error *err)
{
  const clarke_cost_session *s = &r->session;
  clarke_status status;

  if (!s->network) {
    status = print_quantities(r, CLARKE_WITH_INPUT, "Elementary functions", err);
    if (status == CLARKE_OK)
      print_linear_relu(r);
    if (status == CLARKE_OK && r->ran)
      print_run(&r->run);
    return status;
  }
  status = print_quantities(r, CLARKE_WITH_INPUT, "Parameters and the network's input are quantities", err);
  puts("");
  if (status == CLARKE_OK)
    status = print_quantities(r, CLARKE_PARAMETERS_ALONE, "The network's input is constant", err);
  if (status == CLARKE_OK) {
    print_layers(r);
    clarke_against_print(&r->against, &s->cost.total);
  }
  if (status == CLARKE_OK && r->ran)
    print_run(&r->run);
  return status;
}
