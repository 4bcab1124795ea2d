/* clarke derive --direction: derivatives along directions, and what AD's forward mode multiplies out to. */
#include <stdio.h> /* before GMP, for its printing */

#include "derive_report.h"

#include "command.h"
#include "session/directional.h"
#include "session/json.h"

#include <stdlib.h>

/* So many of a direction's entries, and of an output's, are shown; --json has all. */
#define SHOWN ((size_t)12)

static void
put_line(FILE *to, mpq_t *const line, size_t n)
{
  fputs("(", to);
  for (size_t k = 0; k < n && k < SHOWN; k++) {
    fputs(k > 0 ? ", " : "", to);
    mpq_out_str(to, 10, line[k]);
  }
  fputs(n > SHOWN ? ", ...)" : ")", to);
}

static clarke_status
put_numbers(FILE *to, const char *label, const clarke_number *x, size_t n, clarke_error *err)
{
  fprintf(to, "%-15s%s", label, n > 1 ? "(" : "");
  for (size_t o = 0; o < n && o < SHOWN; o++) {
    char *text = clarke_number_text(&x[o]);

    if (text == NULL)
      return clarke_no_memory(err);
    fprintf(to, "%s%s", o > 0 ? ", " : "", text);
    free(text);
  }
  fputs(n > SHOWN ? ", ...)\n" : n > 1 ? ")\n" : "\n", to);
  return CLARKE_OK;
}

/* --- the three lines -------------------------------------------------------------------------- */

static void
put_asked(FILE *to, const clarke_derive_session *s, const clarke_directional_answer *a)
{
  fprintf(to, "Is AD's forward mode right along %s? %s", a->n > 1 ? "these directions, one after another" : "this direction", s->program.file);
  if (s->output != NULL)
    fprintf(to, ", output %s", s->output);
  fprintf(to, ", AD as %s; ", s->profile.name);
  clarke_put_hash(to, s->sha256);
  fputs(".", to);
}

static void
put_answer(FILE *to, const clarke_directional_answer *a)
{
  static const char *const words[] = {"Yes: AD's derivative along %s is the function's.", "No: AD's derivative along %s is not the function's.",
                                      "Not decided: AD's derivative along %s could not be compared with the function's."};

  fprintf(to, words[a->found.agrees], a->n > 1 ? "these directions" : "this direction");
}

static void
put_next(FILE *to, const clarke_directional_answer *a, const char *proof)
{
  if (proof != NULL)
    clarke_put_proof(to, proof);
  if (a->found.agrees == CLARKE_NO)
    fputs("Without --direction the report says where AD's gradient lies.", to);
  else if (a->found.agrees == CLARKE_YES)
    fputs("Nothing needs doing.", to);
  else
    fputs("The reason is below.", to);
}

static clarke_status
print_summary(const clarke_derive_session *s, const clarke_directional_answer *a, const char *proof, clarke_error *err)
{
  clarke_summary summary;
  clarke_status status = clarke_summary_begin(&summary, err);

  if (status == CLARKE_OK) {
    put_asked(summary.asked.to, s, a);
    put_answer(summary.answer.to, a);
    put_next(summary.next.to, a, proof);
    status = clarke_summary_end(&summary, CLARKE_OK, err);
  }
  if (status == CLARKE_OK)
    clarke_summary_print(&summary);
  clarke_summary_clear(&summary);
  return status;
}

/* --- the rest --------------------------------------------------------------------------------- */

static clarke_status
print_turns(const clarke_directional_answer *a, clarke_error *err)
{
  for (size_t t = 0; t < a->text.n_touched && t < 2 * SHOWN; t++) {
    const clarke_turn *turn = &a->found.turn[t];
    char *side = clarke_turn_text(a, t);

    if (side == NULL)
      return clarke_no_memory(err);
    printf("%-15s%s: %s", t == 0 ? "touched" : "", a->text.touched[t].node, side);
    if (turn->left && turn->line != CLARKE_NONE && a->n > 1)
      printf(", as direction %zu tells", turn->line + 1);
    puts("");
    free(side);
  }
  if (a->text.n_touched > 2 * SHOWN)
    printf("%-15s... (%zu in all; --json lists them)\n", "", a->text.n_touched);
  return CLARKE_OK;
}

static clarke_status
print_lines(const clarke_directional_answer *a, clarke_error *err)
{
  const clarke_directional *x = &a->found;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < a->n && status == CLARKE_OK; k++) {
    printf("%-15s", k == 0 ? "along" : "then along");
    put_line(stdout, a->line[k], clarke_code_wrt_count(x->p));
    puts("");
    if (x->known)
      status = put_numbers(stdout, "  derivative", &x->derivative[k * x->n_outputs], x->n_outputs, err);
    else
      printf("%-15snot known\n", "  derivative");
    if (status == CLARKE_OK && x->ad_known)
      status = put_numbers(stdout, "  AD", &x->ad[k * x->n_outputs], x->n_outputs, err);
    else if (!x->ad_known)
      printf("%-15snot known\n", "  AD");
  }
  return status;
}

static clarke_status
print_text(const clarke_derive_session *s, const clarke_directional_answer *a, const char *proof, clarke_error *err)
{
  clarke_status status = print_summary(s, a, proof, err);

  if (status == CLARKE_OK)
    status = print_lines(a, err);
  if (status == CLARKE_OK && a->found.known)
    status = print_turns(a, err);
  if (a->subgradient != NULL) {
    printf("%-15s", "subgradient");
    put_line(stdout, a->subgradient, clarke_code_wrt_count(a->found.p));
    puts(": F is convex, and this has these derivatives");
  }
  if (!a->found.known)
    printf("\nNot decided: %s.\n", a->found.why);
  else if (!a->found.ad_known)
    printf("\nAD's output is no vector of numbers: %s.\n", a->found.ad_why);
  return status;
}

static clarke_status
write_proof(const char **written, const clarke_derive_session *s, const clarke_directional_answer *a, const char *path, clarke_error *err)
{
  if (!a->found.known || !a->found.ad_known) {
    clarke_watch_hide(true);
    fprintf(stderr, "clarke derive: undecided: no proof was written\n");
    return CLARKE_OK;
  }
  *written = path;
  return clarke_directional_prove(a, s, path, err);
}

clarke_status
clarke_derive_along(int *exit_status, const clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  static const int statuses[] = {EXIT_HOLDS, EXIT_FAILS, EXIT_UNDECIDED};
  clarke_directional_answer a;
  const char *proof = NULL;
  clarke_status status;

  clarke_directional_answer_init(&a);
  status = clarke_directional_ask(&a, s, c->direction, c->n_directions, err);
  if (status == CLARKE_OK && c->proof != NULL)
    status = write_proof(&proof, s, &a, c->proof, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && c->json)
    status = clarke_json_print(stdout, clarke_directional_json(&a, s), JSON_INDENT(2), "\n", err);
  else if (status == CLARKE_OK && !c->ci.quiet)
    status = print_text(s, &a, proof, err);
  if (status == CLARKE_OK && c->json && c->ci.told != NULL)
    *c->ci.told = true;
  *exit_status = statuses[a.found.agrees];
  clarke_directional_answer_clear(&a);
  return status;
}
