/* The audit as a table a person can read, and the verdict in a sentence. */
#include "audit_report.h"
#include "op/surrogate.h"
#include "audit/audit.h"

#include <stdio.h>
#include <string.h>

static const char *
answer_word(clarke_truth a)
{
  return a == CLARKE_YES ? "yes" : a == CLARKE_NO ? "no" : "?";
}

/* Prints the rank before a layer with kinks, and its system. */
static void
print_system(const clarke_layer *l)
{
  char rank[48] = "-", system[96] = "-";

  if (l->rank_known)
    snprintf(rank, sizeof rank, "%zu/%zu", l->rank, l->columns);
  if (l->pool != CLARKE_NONE)
    snprintf(system, sizeof system, "%zu rows of the pool's", l->constraints);
  else if (l->moving > 0)
    snprintf(system, sizeof system, "%zu x %zu: %s%s", l->constraints, l->variables,
             l->feasible == CLARKE_YES  ? "feasible"
             : l->feasible == CLARKE_NO ? "infeasible"
                                        : "not decided",
             l->two_kinks ? " (closed form)" : "");
  if (l->blocks.empty > 0 && l->blocks.n > 1)
    snprintf(system + strlen(system), sizeof system - strlen(system), " in %zu of %zu blocks", l->blocks.empty, l->blocks.n);
  printf(" %9s  %s", rank, system);
}

/* Where not all are known there is no number. */
static void
put_number(char text[static 32], size_t n, bool known)
{
  if (known)
    snprintf(text, 32, "%zu", n);
  else
    strcpy(text, "?");
}

static void
print_layer(const clarke_layer *l, const clarke_step *step, bool known, bool systems)
{
  char ties[32] = "-", touched[32];

  if (step->kind == CLARKE_MAX)
    put_number(ties, l->ties, known);
  put_number(touched, l->touched, known);
  printf("%-28.28s %-12s %8zu %9s %9s", step->name, step->op->name, l->neurons, ties, touched);
  if (systems)
    print_system(l);
  putchar('\n');
}

static void
print_layers(const clarke_audit_session *s, bool systems)
{
  const clarke_audit *a = &s->audit;

  if (!s->replayed) {
    printf("Stopped before all kinks were found: %zu of %zu arguments and windows are at none.\n",
           clarke_audit_decided(s), clarke_audit_asked(s));
    return;
  }
  if (a->n_layers == 0) {
    puts("The network has no kinks.");
    return;
  }
  printf("%-28s %-12s %8s %9s %9s", "layer", "op", "neurons", "ties", "touched");
  printf(systems ? " %9s  %s\n" : "\n", "rank", "system (constraints x variables)");
  for (size_t i = 0; i < a->n_layers; i++)
    print_layer(&a->layer[i], &s->graph.steps[a->layer[i].step], clarke_replay_knows(&s->replay, a->layer[i].step), systems);
  if (a->flat > 0)
    printf("%zu of what is touched is constant near the parameters%s, and asks for nothing.\n",
           a->flat, a->flat == s->replay.n_touches ? "" : " where the rest keeps to the sides that AD takes");
}

static void
print_theorems(const clarke_audit *a)
{
  if (a->theorem[0].name == NULL)
    return; /* stopped before they were judged */
  puts("\ntheorem         applies  holds  why");
  for (size_t i = 0; i < CLARKE_THEOREMS; i++) {
    const clarke_theorem *t = &a->theorem[i];

    printf("%-15s %-8s %-6s %s\n", t->name, t->applies ? "yes" : "no",
           t->applies ? answer_word(t->holds) : "-", t->why);
  }
}

static void
print_verdict(const clarke_audit *a)
{
  static const char *const sentence[] = {
    "AD's gradient is an element of the Bouligand subdifferential of the loss: a limit of true "
    "gradients at points that approach these parameters.",
    "AD's gradient is an element of the Clarke subdifferential of the loss: a convex combination of "
    "limits of true gradients.",
    "AD's gradient is NOT an element of the Clarke subdifferential of the loss.",
    "Whether AD's gradient is a generalized derivative of the loss was not decided.",
  };

  printf("\n%s: %s\nReason: %s.\n", clarke_verdict_name(a->verdict), sentence[a->verdict], a->why);
  if (a->zone.zone == CLARKE_ZONE_COMPENSATION || a->zone.zone == CLARKE_ZONE_BIFURCATION)
    printf("Zone: %s: what AD computes %s it takes at touched kinks and ties.\n", clarke_zone_name(a->zone.zone),
           a->zone.zone == CLARKE_ZONE_BIFURCATION ? "depends on what" : "is the same, whatever");
  puts("Semantics: the real function at the stored numbers; rounding on a device may branch "
       "otherwise.");
}

static clarke_status
print_surrogates(const clarke_graph *g, clarke_error *err)
{
  size_t i = clarke_surrogate_next(g, 0);

  if (i != CLARKE_NONE)
    puts("\nSurrogates: AD differentiates another function here than the one that is computed, by design. All that is said is of the network in "
         "which these\nhave their numbers, and the derivative that is named:");
  for (; i != CLARKE_NONE; i = clarke_surrogate_next(g, i + 1)) {
    char *text = clarke_surrogate_text(g, i);

    if (text == NULL)
      return clarke_no_memory(err);
    printf("  %s\n", text);
    free(text);
  }
  return CLARKE_OK;
}

clarke_status
clarke_audit_print_text(const clarke_audit_session *s, const clarke_record *record, const clarke_audit_command *command,
                        clarke_error *err)
{
  clarke_status status;

  status = print_surrogates(&s->graph, err);
  if (status != CLARKE_OK)
    return status;
  print_layers(s, command->theorems);
  status = clarke_audit_print_nearest(s, err);
  if (status == CLARKE_OK)
    status = clarke_audit_print_touched(s, err);
  if (status != CLARKE_OK)
    return status;
  if (command->theorems)
    print_theorems(&s->audit);
  if (command->verbose)
    clarke_audit_print_zeros(s, record);
  if (s->valued)
    printf("\nloss %s%s\n", s->loss_exact ? "" : "about ", s->loss_value);
  if (s->bounded)
    printf("gradient: each entry within %.2g of AD's exact one (--exact: rounded from it)\n", s->within * 1.1);
  print_verdict(&s->audit);
  for (size_t i = 0; i < s->n_notes; i++)
    printf("Note: %s.\n", s->notes[i]);
  return CLARKE_OK;
}
