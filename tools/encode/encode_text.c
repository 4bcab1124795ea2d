/* The report of clarke encode. */
#include <stdio.h> /* before gmp.h, for gmp_printf */

#include "encode_report.h"
#include "session/json.h"
#include "summary.h"

#include <string.h>

/* --- text ------------------------------------------------------------------------------------ */

static const char *
plural(size_t n, const char *one, const char *several)
{
  return n == 1 ? one : several;
}

/* "rewritten    3 clauses of two literals: one is repeated" */
static void
print_rewritten(size_t n, const char *one, const char *several)
{
  if (n > 0)
    printf("rewritten      %zu %s\n", n, plural(n, one, several));
}

static void
print_clauses(const clarke_encode_report *r)
{
  const clarke_three *t = &r->three;

  print_rewritten(t->repeated, "literal stands twice in its clause: left out", "literals stand twice in their clauses: left out");
  print_rewritten(t->empty, "empty clause, which nothing satisfies: (v1) and (not v1)",
                  "empty clauses, which nothing satisfies: (v1) and (not v1)");
  print_rewritten(t->one, "clause of one literal: it is repeated", "clauses of one literal: it is repeated");
  print_rewritten(t->two, "clause of two literals: the second is repeated", "clauses of two literals: the second is repeated");
  print_rewritten(t->split, "clause of more than three literals: split", "clauses of more than three literals: split");
  if (t->n_variables > t->n_own)
    printf("               new variables: %zu\n", t->n_variables - t->n_own);
  if (t->tautologies > 0)
    printf("always true    %zu %s a variable and its negation: kept\n", t->tautologies,
           plural(t->tautologies, "clause has", "clauses have"));
  if (t->padding > 0)
    printf("padding        %zu %s (v1 or not v1), to a power of two\n", t->padding, plural(t->padding, "clause", "clauses"));
}

static void
print_network(const clarke_encode_report *r)
{
  const clarke_sign_network *net = &r->network;

  printf("network        %zu %s, %zu layers of relu, of width ", net->n_inputs, plural(net->n_inputs, "input", "inputs"),
         net->n_matrices - 1);
  for (size_t k = 0; k + 1 < net->n_matrices; k++)
    printf("%s%zu", k > 0 ? ", " : "", net->matrix[k].n_rows);
  printf("; entries -1, 0 and 1, no biases\n");
  if (r->written != NULL)
    printf("written        %s, %zu bytes\n", r->written, r->bytes);
}

/* In the form of the SAT competitions. */
static void
print_assignment(const bool *value, size_t n)
{
  printf("assignment    ");
  for (size_t v = 0; v < n; v++)
    printf(" %s%zu", value[v] ? "" : "-", v + 1);
  printf("\n");
}

static void
print_decision(const clarke_encode_report *r)
{
  const clarke_solution *s = &r->solution;

  if (s->answer == CLARKE_FORMULA_SATISFIED)
    print_assignment(s->value, r->three.n_own);
  if (r->followed != NULL)
    printf("followed       %s, %zu %s\n", r->followed, r->followed_steps, plural(r->followed_steps, "step", "steps"));
  putchar('\n');
  if (s->answer == CLARKE_FORMULA_SATISFIED)
    printf("not-differentiable: F is not differentiable at 0.\n"
           "Reason: the assignment satisfies the formula. In the direction d of its signs F(d) = 1, and F(-d) >= 0.\n");
  else if (s->answer == CLARKE_FORMULA_REFUTED)
    printf("differentiable: F is differentiable at 0, with gradient 0.\n"
           "Reason: no assignment satisfies the formula (a refutation in %zu %s), so F is 0 everywhere.\n", s->refutation.n,
           plural(s->refutation.n, "step", "steps"));
  else if (s->stopped != NULL)
    printf("undecided: %s.\n", s->stopped);
  else
    printf("undecided: %zu visits of clauses were not enough (--work N takes more).\n", s->work);
}

static void
print_decoded(const clarke_encode_report *r)
{
  gmp_printf("F(d)           %Qd\n", r->decoded.value);
  if (r->decoded.assignment == NULL) {
    printf("\nno assignment: F(d) is 0, so some clause has no literal that is positive at d.\n");
    return;
  }
  print_assignment(r->decoded.assignment, r->three.n_own);
  printf("\nsatisfies: the assignment makes all %zu %s of the formula true.\n", r->cnf.n_clauses,
         plural(r->cnf.n_clauses, "clause", "clauses"));
}

static void
put_asked(FILE *to, const clarke_encode_report *r)
{
  if (r->decided)
    fputs("Has the network of this formula a derivative where all inputs are 0? ", to);
  else if (r->decoded.asked)
    fputs("Which assignment does this direction stand for? ", to);
  else
    fputs("What is the network of this formula? ", to);
  fprintf(to, "%s: ", r->formula);
  clarke_put_count(to, r->cnf.n_variables, "variable");
  fputs(", ", to);
  clarke_put_count(to, r->cnf.n_clauses, "clause");
  fputs(".", to);
}

static void
put_answer(FILE *to, const clarke_encode_report *r)
{
  static const char *const answers[] = {
    [CLARKE_FORMULA_SATISFIED] = "No: an assignment makes the formula true, and along its signs the network has a kink there (not-differentiable).",
    [CLARKE_FORMULA_REFUTED] = "Yes, and it is 0: no assignment makes the formula true, so the network is 0 everywhere (differentiable).",
    [CLARKE_FORMULA_GIVEN_UP] = "Not decided: no assignment was found, nor that there is none (undecided)."};

  if (r->decided)
    fputs(answers[r->solution.answer], to);
  else if (r->decoded.asked)
    fputs(r->decoded.assignment != NULL ? "The one below, which makes the formula true (satisfies)." : "None: the network is 0 along it (no assignment).", to);
  else {
    fputs("A network of ", to);
    clarke_put_count(to, r->network.n_inputs, "input");
    fprintf(to, " and %zu layers of ReLUs.", r->network.n_matrices - 1);
  }
}

static void
put_next(FILE *to, const clarke_encode_report *r, const char *proof)
{
  if (proof != NULL && r->decided && r->solution.answer != CLARKE_FORMULA_GIVEN_UP)
    clarke_put_proof(to, proof);
  if (r->written != NULL)
    fprintf(to, "The network is in %s. ", r->written);
  if (r->decided && r->solution.answer == CLARKE_FORMULA_GIVEN_UP)
    fputs("Ask again with more work (--work N), time or memory.", to);
  else if (!r->decided && !r->decoded.asked)
    fputs("--decide tells whether it has a derivative where all inputs are 0.", to);
  else
    fputs("Nothing needs doing.", to);
}

static clarke_status
tell_summary(const clarke_encode_report *r, const char *proof, clarke_error *err)
{
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    put_asked(s.asked.to, r);
    put_answer(s.answer.to, r);
    put_next(s.next.to, r, proof);
  }
  return clarke_summary_tell(&s, status, err);
}

clarke_status
clarke_encode_text(const clarke_encode_report *r, const char *proof, clarke_error *err)
{
  const clarke_status status = tell_summary(r, proof, err);

  if (status != CLARKE_OK)
    return status;
  print_clauses(r);
  print_network(r);
  if (r->decided)
    print_decision(r);
  if (r->decoded.asked)
    print_decoded(r);
  return CLARKE_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void
set_count(json_t **object, const char *key, size_t n)
{
  clarke_json_set(object, key, json_integer((json_int_t)n));
}

static json_t *
rewritten_json(const clarke_three *t)
{
  json_t *j = json_object();

  set_count(&j, "repeated_literals", t->repeated);
  set_count(&j, "empty", t->empty);
  set_count(&j, "one_literal", t->one);
  set_count(&j, "two_literals", t->two);
  set_count(&j, "split", t->split);
  set_count(&j, "always_true", t->tautologies);
  set_count(&j, "padding", t->padding);
  set_count(&j, "new_variables", t->n_variables - t->n_own);
  return j;
}

static json_t *
network_json(const clarke_encode_report *r)
{
  json_t *j = json_object(), *widths = json_array();

  for (size_t k = 0; k + 1 < r->network.n_matrices; k++)
    clarke_json_append(&widths, json_integer((json_int_t)r->network.matrix[k].n_rows));
  set_count(&j, "inputs", r->network.n_inputs);
  clarke_json_set(&j, "widths", widths);
  clarke_json_set(&j, "file", clarke_json_text(r->written));
  return j;
}

static json_t *
assignment_json(const bool *value, size_t n)
{
  json_t *list = json_array();

  for (size_t v = 0; v < n; v++)
    clarke_json_append(&list, json_integer(value[v] ? (json_int_t)v + 1 : -(json_int_t)v - 1));
  return list;
}

static void
set_decision(json_t **j, const clarke_encode_report *r)
{
  static const char *const names[] = {"not-differentiable", "differentiable", "undecided"};
  const clarke_solution *s = &r->solution;

  clarke_json_set(j, "verdict", json_string(names[s->answer]));
  clarke_json_set(j, "differentiable", s->answer == CLARKE_FORMULA_GIVEN_UP ? json_null() : json_boolean(s->answer == CLARKE_FORMULA_REFUTED));
  if (s->stopped != NULL)
    clarke_json_set(j, "stopped", clarke_json_text(s->stopped));
  if (r->followed != NULL)
    clarke_json_set(j, "followed", clarke_json_text(r->followed));
  else
    set_count(j, "conflicts", s->conflicts);
  set_count(j, "work", s->work);
  if (s->answer == CLARKE_FORMULA_SATISFIED)
    clarke_json_set(j, "assignment", assignment_json(s->value, r->three.n_own));
  if (s->answer == CLARKE_FORMULA_REFUTED)
    set_count(j, "steps", s->refutation.n);
}

static void
set_decoded(json_t **j, const clarke_encode_report *r)
{
  char *text = mpq_get_str(NULL, 10, r->decoded.value);
  void (*release)(void *, size_t);

  clarke_json_set(j, "satisfies", json_boolean(r->decoded.assignment != NULL));
  clarke_json_set(j, "value", clarke_json_text(text));
  mp_get_memory_functions(NULL, NULL, &release);
  release(text, strlen(text) + 1);
  if (r->decoded.assignment != NULL)
    clarke_json_set(j, "assignment", assignment_json(r->decoded.assignment, r->three.n_own));
}

clarke_status
clarke_encode_json(const clarke_encode_report *r, clarke_error *err)
{
  json_t *j = json_object();

  if (r->decided)
    set_decision(&j, r);
  if (r->decoded.asked)
    set_decoded(&j, r);
  clarke_json_set(&j, "formula", clarke_json_text(r->formula));
  set_count(&j, "variables", r->cnf.n_variables);
  set_count(&j, "clauses", r->cnf.n_clauses);
  clarke_json_set(&j, "rewritten", rewritten_json(&r->three));
  clarke_json_set(&j, "network", network_json(r));
  return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
}
