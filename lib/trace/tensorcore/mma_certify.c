#include "trace/tensorcore/mma_certify.h"

#include "base/stop.h"
#include "trace/tensorcore/mma_folder.h"
#include "trace/tensorcore/mma_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_mma_report_clear(clarke_mma_report *r)
{
  for (size_t i = 0; i < r->n; i++) {
    free(r->result[i].file);
    free(r->result[i].gpu);
    free(r->result[i].instruction);
  }
  free(r->result);
  memset(r, 0, sizeof *r);
}

clarke_mma_outcome
clarke_mma_report_outcome(const clarke_mma_report *r)
{
  clarke_mma_outcome whole = CLARKE_MMA_EXACT;

  for (size_t i = 0; i < r->n; i++) {
    if (r->result[i].outcome == CLARKE_MMA_DIFFERS)
      return CLARKE_MMA_DIFFERS;
    if (r->result[i].outcome == CLARKE_MMA_UNEXPLAINED)
      whole = CLARKE_MMA_UNEXPLAINED;
  }
  return whole;
}

/* How far a rule goes along. */
typedef struct {
  const clarke_mma_rule *rule;
  size_t agree, line;
  uint32_t recorded, given;
} trial;

static trial
follow(const clarke_mma_rule *rule, const clarke_mma_set *s, int input, const clarke_mma_rows *d)
{
  const size_t k = (size_t)s->a.columns;
  trial t = {rule, 0, 0, 0, 0};

  for (size_t i = 0; i < d->rows; i++) {
    uint32_t given = clarke_mma_apply(rule, input, s->a.columns, &s->a.bits[i * k], &s->b.bits[i * k], s->c.bits[i]);

    t.agree += given == d->bits[i];
    if (given != d->bits[i] && t.line == 0) {
      t.line = i + 1;
      t.recorded = d->bits[i];
      t.given = given;
    }
  }
  return t;
}

/* Does it explain more? One without a difference explains all. */
static bool
goes_farther(const trial *t, const trial *than)
{
  return than->rule == NULL || (than->line != 0 && (t->line == 0 || t->line > than->line));
}

static void
try_rules(clarke_mma_result *r, const clarke_mma_set *s, const clarke_mma_rows *d)
{
  const clarke_mma_question q = {r->gpu, r->input, r->output, r->k, r->instruction};
  trial best = {NULL, 0, 0, 0, 0};

  for (const clarke_mma_rule *rule = clarke_mma_rule_next(&q, NULL); rule != NULL; rule = clarke_mma_rule_next(&q, rule)) {
    trial t = follow(rule, s, r->input, d);

    if (goes_farther(&t, &best))
      best = t;
  }
  r->rule = best.rule;
  r->agree = best.agree;
  r->line = best.line;
  r->recorded = best.recorded;
  r->given = best.given;
  r->outcome = best.rule == NULL ? CLARKE_MMA_UNEXPLAINED : best.line == 0 ? CLARKE_MMA_EXACT : CLARKE_MMA_DIFFERS;
}

/* FOLDER/d_GPU_FORMAT.txt (malloc). */
static char *
file_of(const clarke_mma_place *p, int output)
{
  const char *name = clarke_mma_formats[output].name;
  size_t size = strlen(p->folder) + strlen(p->gpu) + strlen(name) + sizeof "/d__.txt";
  char *file = malloc(size);

  if (file != NULL)
    snprintf(file, size, "%s%sd_%s_%s.txt", p->folder, *p->folder != '\0' ? "/" : "", p->gpu, name);
  return file;
}

static clarke_status
add_result(clarke_mma_report *report, const clarke_mma_place *p, const clarke_mma_set *s, int output, clarke_error *err)
{
  const clarke_mma_rows *d = output == CLARKE_MMA_FP32 ? &s->fp32 : &s->fp16;
  const char *instruction = output == CLARKE_MMA_FP32 ? s->instruction.fp32 : s->instruction.fp16;
  clarke_mma_result *grown = realloc(report->result, (report->n + 1) * sizeof *grown), *r;

  if (grown == NULL)
    return clarke_no_memory(err);
  report->result = grown;
  r = &grown[report->n++];
  *r = (clarke_mma_result){
    .file = file_of(p, output), .gpu = strdup(p->gpu), .instruction = *instruction != '\0' ? strdup(instruction) : NULL,
    .architecture = clarke_architecture_of(p->gpu), .input = p->input, .output = output, .k = s->a.columns, .results = d->rows};
  if (r->file == NULL || r->gpu == NULL || (*instruction != '\0' && r->instruction == NULL))
    return clarke_no_memory(err);
  try_rules(r, s, d);
  return CLARKE_OK;
}

static clarke_status
certify_set(clarke_mma_report *r, const clarke_mma_place *p, clarke_error *err)
{
  clarke_mma_set s = {0};
  clarke_status status = clarke_mma_set_read(&s, p, err);

  if (status == CLARKE_OK && p->has_fp32)
    status = add_result(r, p, &s, CLARKE_MMA_FP32, err);
  if (status == CLARKE_OK && p->has_fp16)
    status = add_result(r, p, &s, CLARKE_MMA_FP16, err);
  clarke_mma_set_clear(&s);
  return status;
}

clarke_status
clarke_mma_certify(clarke_mma_report *r, const char *directory, clarke_error *err)
{
  clarke_mma_places p = {0, NULL};
  clarke_status status = clarke_mma_places_find(&p, directory, err);

  for (size_t i = 0; i < p.n && status == CLARKE_OK; i++) {
    status = clarke_work_check(err);
    if (status == CLARKE_OK)
      status = certify_set(r, &p.place[i], err);
  }
  clarke_mma_places_clear(&p);
  return status;
}
