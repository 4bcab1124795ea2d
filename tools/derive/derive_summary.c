/* The three lines in front of what is derived. */
#include "derive_report.h"

/* So many of the point's numbers are shown. */
#define SHOWN ((size_t)8)

static void
put_point(FILE *to, const clarke_derive_session *s)
{
  const clarke_code *p = &s->program;
  size_t e = 0;

  for (size_t i = 0; i < p->n_inputs; i++) {
    fputs(i > 0 ? ", " : " at ", to);
    fputs(p->input[i].name, to);
    fputs(p->input[i].vector ? " = (" : " = ", to);
    for (size_t j = 0; j < p->input[i].n; j++, e++) {
      if (j >= SHOWN)
        continue;
      fputs(j > 0 ? ", " : "", to);
      mpq_out_str(to, 10, s->at[e]);
    }
    fprintf(to, "%s%s", p->input[i].n > SHOWN ? ", ..." : "", p->input[i].vector ? ")" : "");
  }
}

static void
put_asked(FILE *to, const clarke_derive_session *s)
{
  const clarke_code *p = &s->program;

  fputs("Is AD right at this point? ", to);
  fputs(p->file, to);
  if (s->output != NULL) {
    fputs(", output ", to);
    fputs(s->output, to);
  }
  if (!s->network)
    put_point(to, s);
  fputs(", derivatives in", to);
  for (size_t i = 0, n = 0; i < p->n_inputs; i++)
    if (p->input[i].wrt) {
      fputs(n++ > 0 ? ", " : " ", to);
      fputs(p->input[i].name, to);
    }
  fputs(", AD as ", to);
  fputs(s->profile.name, to);
  fputs("; ", to);
  clarke_put_hash(to, s->sha256);
  fputs(".", to);
}

/* One limit of gradients alone: the function has this derivative, and AD's output is it. */
static bool
is_smooth(const clarke_derivation *d, const clarke_derive_text *t)
{
  return d->verdict == CLARKE_IN_BOULIGAND && d->differentiable == CLARKE_YES && t->bouligand.known && t->bouligand.n == 1;
}

static void
put_touched(FILE *to, const clarke_derivation *d, const clarke_derive_text *t)
{
  if (d->execution.live == NULL)
    fputs("Which kinks are touched is not known.", to);
  else if (t->n_touched == 0 && d->verdict != CLARKE_UNDECIDED)
    fputs("Nothing is at a kink.", to);
  for (size_t i = 0; i < t->n_touched && i < CLARKE_NAMED; i++) {
    fputs(i > 0 ? "; " : "At a kink: ", to);
    fputs(t->touched[i].node, to);
  }
  if (t->n_touched > CLARKE_NAMED)
    fprintf(to, "; and %zu more", t->n_touched - CLARKE_NAMED);
  if (t->n_touched > 0)
    fputs(".", to);
}

static void
put_next(FILE *to, const clarke_derivation *d, const clarke_derive_text *t, const char *proof)
{
  if (proof != NULL)
    clarke_put_proof(to, proof);
  if (d->verdict == CLARKE_UNDECIDED)
    fputs("The reason is below; clarke explain undecided says what the word means.", to);
  else if (d->verdict == CLARKE_NOT_IN_CLARKE && t->n_touched > 0)
    fputs("Write the function with other kinks, or give these other slopes (--profile): where nothing is at a kink AD is right.", to);
  else if (d->verdict == CLARKE_NOT_IN_CLARKE)
    fputs("The reason is below.", to);
  else
    fprintf(to, "Nothing needs doing%s.", proof != NULL ? "" : "; --proof FILE writes a proof for clarke-check");
}

clarke_status
clarke_derive_summary(clarke_summary *summary, const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_text *t,
                      const char *proof, clarke_error *err)
{
  clarke_status status = clarke_summary_begin(summary, err);

  if (status != CLARKE_OK)
    return status;
  put_asked(summary->asked.to, s);
  clarke_put_verdict(summary->answer.to, d->verdict, is_smooth(d, t), "AD's derivative", "points");
  fputs(". ", summary->answer.to);
  put_touched(summary->answer.to, d, t);
  put_next(summary->next.to, d, t, proof);
  return clarke_summary_end(summary, CLARKE_OK, err);
}
