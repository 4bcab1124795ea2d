/* Proofs about programs (docs/proof-format.md, "Programs"): the statement. */
#include "check/program/program_proof.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/program_evidence.h"
#include "check/program/program_follow.h"

#include <stdlib.h>
#include <string.h>

void
state_program(bytes b)
{
  for (size_t i = 0; i < b.size; i++) {
    char c = (char)b.data[i], before = i > 0 ? (char)b.data[i - 1] : '\n';
    if (before == '\n' && c == '#') {
      while (i + 1 < b.size && b.data[i] != '\n')
        i++;
      continue;
    }
    if (c == '\r' && i + 1 < b.size && b.data[i + 1] == '\n')
      continue;
    if (before == '\n')
      fputs("  ", account);
    fputc(c == '\n' || c == '\t' ? c : printable(c), account);
    if (i + 1 == b.size && c != '\n')
      fputc('\n', account);
  }
}

/* Reads the point. No line speaks of a network's parameters: they are as stored. */
static void
read_point(walk *w, bool parameters)
{
  fputs("Point w:", account);
  for (size_t k = 0; k < (parameters ? 1 : w->prog.n_inputs); k++) {
    const program_input *in = &w->prog.inputs[k];
    next_line("at");
    require(strcmp(next_word(), in->name) == 0, "the values of input '%s' are expected", in->name);
    fprintf(account, "%s %s = %s", k > 0 ? "," : "", in->name, in->vector ? "(" : "");
    for (size_t e = 0; e < in->n; e++) {
      next_rational(w->prog.instructions[in->first + e].c);
      gmp_fprintf(account, "%s%Qd", e > 0 ? ", " : "", w->prog.instructions[in->first + e].c);
    }
    fputs(in->vector ? ")" : "", account);
  }
  fputs(parameters ? ", which is fixed, and the parameters as stored\n" : "\n", account);
}

/* A network's parameters are its inputs but the first; `wrt` named them before. */
static void
vary_parameters(walk *w)
{
  for (size_t k = 1; k < w->prog.n_inputs; k++)
    for (size_t e = 0; e < w->prog.inputs[k].n; e++)
      walk_vary(w, w->prog.inputs[k].first + e);
}

static void
read_wrt(walk *w)
{
  next_line("wrt");
  bool all = word_is("*");
  fputs("F is a function of:", account);
  if (all)
    next_word();
  for (size_t k = 0; k < w->prog.n_inputs; k++) {
    const program_input *in = &w->prog.inputs[k];
    if (!all && !word_is(in->name))
      continue;
    fprintf(account, " %s", all ? in->name : next_word());
    for (size_t e = 0; e < in->n; e++)
      walk_vary(w, in->first + e);
  }
  require(!more_words() && w->n_wrt > 0, "'%s' is no input, or not in their order", more_words() ? next_word() : "");
  fputs(all ? "\n" : "; the other inputs are fixed\n", account);
}

/* `left`, `right`, `unknown` or a rational; of ties `first`, `last`, `stable`, `mean`, `unknown` or
 * `hybrid B`. */
static void
next_proxy(proxy *p, bool ties)
{
  static const char *const names[] = {"left",   "right",   "unknown", "first", "last",
                                      "stable", "unknown", "mean",    "hybrid"};
  static const int kinds[] = {LEFT, RIGHT, UNKNOWN, FIRST, LAST, STABLE, UNKNOWN, FIRST, FIRST};
  size_t k = ties ? 3 : 0, end = ties ? 9 : 3;
  const char *word = next_word();
  fprintf(account, " %s", word);
  while (k < end && strcmp(word, names[k]) != 0)
    k++;
  require(k < 9, "'%s' is no rule for ties", word);
  if (k == 3 && !ties)
    unread_word(word);
  p->kind = k == 3 && !ties ? VALUE : kinds[k];
  p->value = rational_zero();
  if (k == 7)
    mpq_set(&p->value, &plus_one);
  if (p->kind == VALUE || k == 8)
    next_rational(&p->value);
  if (k == 8)
    gmp_fprintf(account, " %Qd", &p->value);
  fputs("\n", account);
}

/* `proxy` lines, then `tie` lines, of the operators that take theirs from here. */
static void
read_proxies(walk *w, bool ties)
{
  const kinked *o;
  for (size_t i = 0; (o = kink_operator(&w->prog, i)) != NULL; i++)
    for (size_t k = 0; k < (ties ? o->n_kinks == 0 : o->n_kinks) && o->used; k++) {
      proxy p = {0};
      next_line(ties ? "tie" : "proxy");
      require(strcmp(next_word(), o->name) == 0 && (ties || next_number() == k), "kink %zu of %s is expected", k,
              o->name);
      fprintf(account, ties ? "  %s, ties:" : "  %s, kink %zu:", o->name, k);
      next_proxy(&p, ties);
      require(!o->first_alone || p.kind == UNKNOWN || (p.kind == FIRST && mpq_sgn(&p.value) == 0),
              "ties of %s have no other rule than 'first': it is made of many comparisons", o->name);
      kink_take(&w->prog, i, k, &p);
    }
}

/* AD's output, row by row. */
interval *
keep_output(const walk *w)
{
  interval *ad = intervals(w->prog.n_outputs * w->n_wrt);
  for (size_t k = 0; k < w->prog.n_outputs * w->n_wrt; k++)
    interval_add(&ad[k], output_gradient(w, k), &plus_one);
  return ad;
}

/* F is locally Lipschitz near the point: without that it has no generalized derivative to be a member of. What is well inside its
 * domain is so, but for roots of 0, and for branches whose arms do not meet. */
void
check_neighbourhood(walk *w)
{
  near_value *near = allocate(w->prog.n, sizeof *near);
  bool asked = false;
  follow_point(w, true);
  for (size_t i = 0; i < w->prog.n; i++) {
    const operation kind = w->prog.instructions[i].kind;
    near[i] = (near_value){w->states[i].done ? w->states[i].s : NULL, w->states[i].degree == 0, w->states[i].arm,
                           w->states[i].part};
    asked = asked || kind == A_BRANCH || kind == AN_ANALYTIC;
  }
  if (asked)
    w->prog.lipschitz(&w->prog, near);
  free(near);
}

void
read_question(walk *w, const program *of, bool parameters)
{
  walk_program(w, of);
  read_point(w, parameters);
  (parameters ? vary_parameters : read_wrt)(w);
  next_line("profile");
  state_profile(next_name());
  read_proxies(w, false);
  read_proxies(w, true);
}

static const char *const meanings[][2] = {
    {"in-bouligand", "an element of the Bouligand subdifferential of F at w: a limit of gradients of F,\n"
                     "taken at points near w where F is differentiable"},
    {"in-clarke", "an element of the Clarke subdifferential of F at w: a convex combination of limits\n"
                  "of gradients of F, taken at points near w where F is differentiable"},
    {"not-in-clarke", "NOT an element of the Clarke subdifferential of F at w: neither a limit of\n"
                      "gradients of F, taken at points near w where F is differentiable, nor a convex\n"
                      "combination of such limits"}};

void
check_program(const program *of, bool parameters, const char *verdict, const evidence_rules *rules)
{
  walk all = {0}, *w = &all;
  size_t m = 0;
  while (strcmp(meanings[m][0], verdict) != 0)
    m++;
  read_question(w, of, parameters);
  follow_point(w, false);
  for (size_t o = 0; o < w->prog.n_outputs; o++)
    require(w->states[w->prog.outputs[o]].same,
            "AD's output needs a proxy that is unknown, or a derivative that is infinite");
  interval *ad = keep_output(w);
  next_line("touched");
  require(next_number() == follow_touched(w), "the number of touched instructions is %zu", follow_touched(w));
  fprintf(account, "Touched instructions: %zu\nAD returns ", follow_touched(w));
  check_neighbourhood(w);
  put_rows(w, ad);
  fprintf(account, ". It is\n%s.\n", meanings[m][1]);
  check_program_evidence(w, verdict, ad, rules);
  fflush(account);
}
