/* The three lines in front of an audit. */
#include "audit_report.h"
#include "op/surrogate.h"

#include <stdlib.h>
#include <string.h>

/* --- what was asked --------------------------------------------------------------------------- */

static void
put_asked(FILE *to, const clarke_audit_session *s, const clarke_certified *ran)
{
  if (ran != NULL)
    fprintf(to, "Was the gradient of recorded step %zu right? ", ran->record.step->step);
  else
    fputs("Is AD's gradient right at these weights? ", to);
  clarke_audit_put_question(to, s);
  fputs("; model ", to);
  clarke_put_hash(to, s->model.sha256);
  if (s->params.name != NULL && ran == NULL) {
    fputs(", weights of ", to);
    fputs(s->params.name, to);
    fputs(" ", to);
    clarke_put_hash(to, s->params.sha256);
  }
  fputs(".", to);
}

void
clarke_audit_put_question(FILE *to, const clarke_audit_session *s)
{
  const clarke_graph *g = &s->graph;

  fputs(g->file, to);
  if (s->output != NULL) {
    fputs(", output ", to);
    fputs(s->output, to);
  }
  fputs(" on ", to);
  clarke_put_count(to, s->x->dims[0], "sample");
  fprintf(to, ", loss %s, in ", clarke_loss_name(s->loss.kind));
  clarke_put_count(to, clarke_graph_wrt_count(g), "parameter");
  fputs(", AD as ", to);
  fputs(s->profile.name, to);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Every argument is off its kinks, and each window's largest entry is one function: the loss is differentiable there. */
static bool
is_smooth(const clarke_audit_session *s)
{
  return clarke_audit_touches_known(s) && s->replay.n_touches == 0;
}

static size_t
ties_of(const clarke_audit *a)
{
  size_t n = 0;

  for (size_t i = 0; i < a->n_layers; i++)
    n += a->layer[i].ties;
  return n;
}

/* The smallest distance of all that are listed; NONE: nothing is. */
static size_t
nearest_of(const clarke_nearest *list)
{
  size_t found = CLARKE_NONE;

  for (size_t i = 0; i < list->n; i++)
    if (found == CLARKE_NONE || mpq_cmp(list->near[i].distance, list->near[found].distance) < 0)
      found = i;
  return found;
}

static clarke_status
put_nearest(FILE *to, const clarke_audit_session *s, clarke_error *err)
{
  const size_t i = s->near_known ? nearest_of(&s->nearest) : CLARKE_NONE;
  clarke_near_text t;
  char distance[64];
  clarke_status status;

  if (i == CLARKE_NONE)
    return CLARKE_OK;
  status = clarke_near_describe(&t, s, i, err);
  if (status == CLARKE_OK) {
    clarke_audit_distance(distance, sizeof distance, &t);
    if (t.distance == NULL && strcmp(t.at_least, "0") == 0)
      fputs("; how near to one is not told", to);
    else if (t.distance == NULL)
      fprintf(to, "; nothing is nearer to one than %s", t.at_least);
    else {
      fputs("; nearest: ", to);
      clarke_put_place(to, &s->graph, s->nearest.near[i].step, s->nearest.near[i].feature, s->nearest.near[i].sample);
      fprintf(to, ", %s away (%s%s float32 steps)", distance, t.ulps_exact ? "" : "> ", t.ulps);
    }
  }
  clarke_near_text_clear(&t);
  return status;
}

static void
put_touched(FILE *to, const clarke_audit_session *s)
{
  const clarke_replay *r = &s->replay;

  fputs("At a kink: ", to);
  for (size_t k = 0; k < r->n_touches && k < CLARKE_NAMED; k++) {
    fputs(k > 0 ? "; " : "", to);
    clarke_put_place(to, &s->graph, r->touch[k].step, r->touch[k].feature, r->touch[k].sample);
  }
  if (r->n_touches > CLARKE_NAMED)
    fprintf(to, "; and %zu more", r->n_touches - CLARKE_NAMED);
  if (s->audit.flat > 0)
    fprintf(to, " (%zu of the %zu constant %s)", s->audit.flat, r->n_touches,
            s->audit.flat == r->n_touches ? "near these weights" : "where the others keep to the sides that AD takes");
  fputs(r->open > 0 ? "; of some arguments it is not known. " : ". ", to);
}

static clarke_status
put_kinks(FILE *to, const clarke_audit_session *s, clarke_error *err)
{
  const size_t ties = ties_of(&s->audit);
  clarke_status status = CLARKE_OK;

  if (!s->replayed)
    fputs("Which kinks are touched is not known. ", to);
  else if (s->replay.n_touches > 0)
    put_touched(to, s);
  else if (s->replay.open > 0)
    fputs("Of some arguments it is not known whether they are at a kink. ", to);
  else if (s->audit.n_layers == 0)
    fputs("The network has no kinks. ", to);
  else if (s->audit.verdict != CLARKE_UNDECIDED) {
    fputs("Nothing is at a kink", to);
    if (ties > 0)
      fprintf(to, " (%zu window%s several largest entries, which stay equal near these weights)", ties, ties == 1 ? " has" : "s have");
    status = put_nearest(to, s, err);
    fputs(". ", to);
  }
  return status;
}

static void
put_turned(FILE *to, const clarke_certified *c)
{
  size_t n = 0;

  for (size_t i = 0; i < c->pattern.n; i++) {
    const clarke_parted *p = &c->pattern.parted[i];

    if (p->alike || n++ >= CLARKE_NAMED)
      continue;
    fputs(n > 1 ? "; " : "", to);
    clarke_put_place(to, &c->audit.graph, p->step, p->feature, p->sample);
  }
  if (n > CLARKE_NAMED)
    fprintf(to, "; and %zu more", n - CLARKE_NAMED);
}

/* What ran, beside AD's exact gradient. */
static void
put_ran(FILE *to, const clarke_certified *c)
{
  const clarke_record *r = &c->record;

  if (clarke_record_rests_on_nodes(r) && r->ran == CLARKE_RAN_EXPLAINED)
    fputs("The recorded gradient is that one, but for the rounding of each operation (explained, node by node). Roundings may add up: how far they "
          "lead was not asked (--gradient FILE). ", to);
  else if (r->ran == CLARKE_RAN_EXPLAINED)
    fputs("The recorded gradient is that one, but for rounding (explained). ", to);
  else if (r->ran == CLARKE_RAN_TURNED) {
    fprintf(to, "The recorded gradient is that one, but for %s, which took other sides than exact arithmetic (turned): ",
            clarke_record_rests_on_nodes(r) ? "the rounding of each operation" : "rounding");
    put_turned(to, c);
    fputs(". ", to);
  }
  if (c->claimed)
    fputs("Roundings are allowed here that run.json alone tells of. ", to);
  if (r->run.n_surrogates > 0) {
    fputs("All this is said of the step as AD differentiates it, with ", to);
    clarke_put_count(to, r->run.n_surrogates, "function");
    fputs(" replaced by design (surrogates). ", to);
  }
}

void
clarke_audit_put_surrogates(FILE *to, const clarke_graph *g)
{
  size_t n = 0;

  for (size_t i = clarke_surrogate_next(g, 0); i != CLARKE_NONE; i = clarke_surrogate_next(g, i + 1))
    n++;
  if (n == 0)
    return;
  fputs("All this is said of the network as AD differentiates it, with ", to);
  clarke_put_count(to, n, "operator");
  fputs(" replaced by design (surrogates). ", to);
}

static clarke_status
put_answer(FILE *to, const clarke_audit_session *s, const clarke_certified *ran, clarke_error *err)
{
  const clarke_ran how = ran != NULL ? ran->record.ran : CLARKE_RAN_EXPLAINED;
  clarke_status status;

  if (how == CLARKE_RAN_REFUTED) {
    fputs("No: the recorded gradient is not the one of the recorded step (refuted), and nothing is said of what else ran.", to);
    return CLARKE_OK;
  }
  if (how == CLARKE_RAN_UNKNOWN)
    fputs("Not decided: whether the recorded gradient is AD's, but for rounding (not known). Of AD's own: ", to);
  if (how == CLARKE_RAN_TURNED)
    clarke_put_verdict(to, ran->along.verdict, false, "AD's gradient along the recorded sides of kinks", "weights");
  else
    clarke_put_verdict(to, s->audit.verdict, is_smooth(s), "AD's gradient", "weights");
  fputs(". ", to);
  if (ran != NULL)
    put_ran(to, ran);
  clarke_audit_put_surrogates(to, &s->graph);
  status = put_kinks(to, s, err);
  clarke_audit_put_zeros(to, s);
  return status;
}

/* --- what to do ------------------------------------------------------------------------------- */

static void
put_next(FILE *to, const clarke_audit_session *s, const clarke_certified *ran, const char *proof)
{
  const clarke_ran how = ran != NULL ? ran->record.ran : CLARKE_RAN_EXPLAINED;
  const clarke_verdict verdict = how == CLARKE_RAN_TURNED ? ran->along.verdict : s->audit.verdict;

  if (how == CLARKE_RAN_REFUTED) {
    fputs("The reason is below; clarke certify names the recorded numbers that are not the step's.", to);
    return;
  }
  if (proof != NULL && how == CLARKE_RAN_TURNED)
    fprintf(to, "The proof in %s, for clarke-check, is of AD's gradient in exact arithmetic, not of the recorded one. ", proof);
  else if (proof != NULL)
    clarke_put_proof(to, proof);
  if (s->stopped != NULL && verdict == CLARKE_UNDECIDED)
    fprintf(to, "Ask again with more time or memory: %s.", s->stopped);
  else if (how == CLARKE_RAN_UNKNOWN)
    fputs("The reason is below; clarke certify tells what is known of each node.", to);
  else if (verdict == CLARKE_UNDECIDED)
    fputs("The reason is below; --wrt NAME,... asks about fewer parameters, and a smaller batch touches fewer kinks.", to);
  else if (verdict == CLARKE_NOT_IN_CLARKE)
    fprintf(to, "%sChange the weights a little, off these kinks: where nothing is at a kink AD is right.",
            s->list_touched || s->replay.n_touches <= CLARKE_NAMED ? "" : "--touched lists all kinks. ");
  else
    fprintf(to, "Nothing needs doing%s.", proof != NULL ? "" : "; --proof FILE writes a proof for clarke-check");
}

clarke_status
clarke_audit_summary(clarke_summary *summary, const clarke_audit_session *s, const clarke_certified *ran, const char *proof,
                     clarke_error *err)
{
  clarke_status status = clarke_summary_begin(summary, err);

  if (status != CLARKE_OK)
    return status;
  put_asked(summary->asked.to, s, ran);
  status = put_answer(summary->answer.to, s, ran, err);
  put_next(summary->next.to, s, ran, proof);
  return clarke_summary_end(summary, status, err);
}
