/* Times parts of clarke audit inside one process, by the calls that tools/audit/audit_session.c makes.
 *
 *   audit_bench PART MODEL.onnx BATCH.npz SECONDS [PROOF]
 *
 * PART is one of
 *   verdict  bytes in memory to a verdict (and, with PROOF, its proof in a file), and its phases
 *   exact    the replay without the floating-point filter
 *   naive    an mpq_t a number, on the first samples
 *   rank     the rank of the input of every dense step that feeds a kink
 *   gemm     the dense steps alone, in float32 and float64
 *
 * The part is repeated for SECONDS, and at least three times; one that takes longer than LONG runs
 * once. One JSON object is printed: under
 * "times" a list of milliseconds for each thing timed; beside it what was found, so that a figure
 * cannot come from a run that did nothing. */
#include "naive.h"
#include "proof/write.h"
#include "format/file.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "network/graph/build.h"

#include <cblas.h>
#undef I
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEAST_RUNS 3
#define LONG 4000 /* milliseconds */
#define MAX_SERIES 8
#define NAIVE_SAMPLES 2

typedef struct {
  const char *name;
  size_t n;
  double *ms;
} series;

/* The files' bytes stay; the rest is made anew in every run. */
typedef struct {
  const char *model_name, *batch_name, *proof;
  clarke_file model_file, batch_file;
  double seconds;
  series times[MAX_SERIES];
  char found[512]; /* JSON members, each with a comma before it */

  char model_sha256[65], batch_sha256[65];
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensors batch;
  clarke_replay replay;
  clarke_question question;
  clarke_audit audit;
} bench;

/* Processor time of all threads, in milliseconds: what others do on the machine is left out. */
static double
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static clarke_status
record(bench *b, const char *name, double ms, clarke_error *err)
{
  series *s = b->times;
  double *grown;

  while (s->name != NULL && strcmp(s->name, name) != 0)
    s++;
  grown = realloc(s->ms, (s->n + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  s->name = name;
  s->ms = grown;
  s->ms[s->n++] = ms;
  return CLARKE_OK;
}

static void
run_init(bench *b)
{
  clarke_graph_init(&b->graph);
  clarke_profile_init(&b->profile);
  clarke_tensors_init(&b->batch);
  clarke_replay_init(&b->replay);
  clarke_audit_init(&b->audit);
  b->question = (clarke_question){0};
}

static void
run_clear(bench *b)
{
  clarke_audit_clear(&b->audit);
  if (b->question.g != NULL)
    clarke_question_clear(&b->question);
  clarke_replay_clear(&b->replay);
  clarke_profile_clear(&b->profile);
  clarke_graph_clear(&b->graph);
  clarke_tensors_clear(&b->batch);
}

static clarke_status
hash(char sha256[65], const clarke_file *f, clarke_error *err)
{
  unsigned char md[EVP_MAX_MD_SIZE];
  unsigned int length = 0;

  if (EVP_Digest(f->data, f->size, md, &length, EVP_sha256(), NULL) != 1 || length != 32)
    return clarke_fail(err, CLARKE_EINTERNAL, "SHA-256 could not be computed");
  for (size_t i = 0; i < 32; i++)
    sprintf(sha256 + 2 * i, "%02x", md[i]);
  return CLARKE_OK;
}

static clarke_status
read_phase(bench *b, clarke_error *err)
{
  clarke_model model;
  bool stored;
  clarke_status status = hash(b->model_sha256, &b->model_file, err);

  clarke_model_init(&model);
  if (status == CLARKE_OK)
    status = hash(b->batch_sha256, &b->batch_file, err);
  if (status == CLARKE_OK)
    status = clarke_profile_load(&b->profile, "pytorch-2.13", err);
  if (status == CLARKE_OK)
    status = clarke_npz_parse(&b->batch, &stored, b->batch_file.data, b->batch_file.size,
                              b->batch_name, err);
  if (status == CLARKE_OK && clarke_tensors_find(&b->batch, "x") == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no array 'x'", b->batch_name);
  if (status == CLARKE_OK)
    status = clarke_onnx_parse(&model, b->model_file.data, b->model_file.size, b->model_name, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&b->graph, &model, clarke_tensors_find(&b->batch, "x"), err);
  clarke_model_clear(&model);
  if (status == CLARKE_OK)
    status = clarke_graph_wrt(&b->graph, NULL, 0, err);
  return status;
}

static clarke_status
replay_phase(bench *b, bool exact, clarke_error *err)
{
  return clarke_replay_run(&b->replay, NULL, &b->graph, clarke_tensors_find(&b->batch, "x"), exact, 1, err);
}

static clarke_status
audit_phase(bench *b, clarke_error *err)
{
  clarke_loss loss = {.kind = CLARKE_LOSS_CE, .y = clarke_tensors_find(&b->batch, "y"), .samples = b->replay.samples};
  clarke_status status;

  if (loss.y == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no array 'y'", b->batch_name);
  status = clarke_loss_check(&loss, &b->graph, err);
  if (status == CLARKE_OK)
    status = clarke_question_init(&b->question, &b->replay, &b->profile, &loss, err);
  if (status == CLARKE_OK)
    status = clarke_audit_run(&b->audit, &b->question, false, err);
  return status;
}

static clarke_status
proof_phase(bench *b, clarke_error *err)
{
  clarke_proof_statement statement = {
    .model = {.name = b->model_name, .sha256 = b->model_sha256},
    .batch = {.name = b->batch_name, .sha256 = b->batch_sha256},
  };

  return b->proof == NULL ? CLARKE_OK
                          : clarke_proof_write(b->proof, &statement, &b->audit, &b->question, err);
}

/* --- the parts: one run each --- */

static clarke_status
run_verdict(bench *b, clarke_error *err)
{
  double t[6];
  clarke_status status;

  /* A new file: replacing one makes some file systems write to the disk. */
  if (b->proof != NULL)
    unlink(b->proof);
  t[0] = now();
  status = read_phase(b, err);
  t[1] = now();
  if (status == CLARKE_OK)
    status = replay_phase(b, false, err);
  t[2] = now();
  if (status == CLARKE_OK)
    status = audit_phase(b, err);
  t[3] = now();
  if (status == CLARKE_OK)
    status = proof_phase(b, err);
  t[4] = now();
  if (status != CLARKE_OK)
    return status;
  snprintf(b->found, sizeof b->found,
           ", \"verdict\": \"%s\", \"touched\": %zu, \"filtered\": %zu, \"exact_samples\": %zu",
           clarke_verdict_name(b->audit.verdict), b->replay.n_touches, b->replay.filtered,
           b->replay.near.n);
  run_clear(b);
  run_init(b);
  t[5] = now();
  for (size_t i = 0; i < 5 && status == CLARKE_OK; i++)
    status = record(b, (const char *[]){"read", "replay", "audit", "proof", "free"}[i],
                    t[i + 1] - t[i], err);
  return status == CLARKE_OK ? record(b, "whole", t[5] - t[0], err) : status;
}

static clarke_status
run_exact(bench *b, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  double start;

  if (b->graph.n_steps == 0)
    status = read_phase(b, err);
  start = now();
  if (status == CLARKE_OK)
    status = replay_phase(b, true, err);
  if (status == CLARKE_OK)
    status = record(b, "exact", now() - start, err);
  snprintf(b->found, sizeof b->found, ", \"touched\": %zu", b->replay.n_touches);
  return status;
}

static clarke_status
run_naive(bench *b, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t differing = 0, compared = 0;
  double start;

  if (b->graph.n_steps == 0) {
    status = read_phase(b, err);
    if (status == CLARKE_OK)
      status = replay_phase(b, false, err);
  }
  start = now();
  if (status == CLARKE_OK)
    status = bench_naive(&differing, &compared, &b->replay, NAIVE_SAMPLES, err);
  if (status == CLARKE_OK)
    status = record(b, "naive", now() - start, err);
  snprintf(b->found, sizeof b->found,
           ", \"samples\": %d, \"batch\": %zu, \"differing\": %zu, \"compared\": %zu",
           NAIVE_SAMPLES, b->replay.samples, differing, compared);
  return status;
}

/* The dense step before a PIECEWISE step, through the sum of its bias; or NULL. */
static const clarke_step *
dense_before(const clarke_graph *g, const clarke_step *s)
{
  while (s->kind == CLARKE_PIECEWISE || s->kind == CLARKE_SUM) {
    size_t producer = CLARKE_NONE;

    for (size_t i = 0; i < s->n_in && producer == CLARKE_NONE; i++)
      producer = g->values[s->in[i].value].producer;
    if (producer == CLARKE_NONE)
      return NULL;
    s = &g->steps[producer];
  }
  return s->kind == CLARKE_DENSE ? s : NULL;
}

static clarke_status
one_rank(bench *b, const clarke_matrix *z, size_t layer, clarke_error *err)
{
  static const char *const names[] = {"z_0", "z_1", "z_2", "z_3"};
  size_t used = strlen(b->found);
  double start = now();
  clarke_rank rank;
  clarke_status status;

  clarke_rank_init(&rank);
  status = clarke_rank_compute(&rank, z, err);
  if (status == CLARKE_OK)
    status = record(b, names[layer], now() - start, err);
  snprintf(b->found + used, sizeof b->found - used, ", \"%s\": [%zu, %zu, %ld]", names[layer],
           z->rows, z->cols, rank.known ? (long)rank.rank : -1L);
  clarke_rank_clear(&rank);
  return status;
}

static clarke_status
run_rank(bench *b, clarke_error *err)
{
  clarke_forward pass;
  size_t layer = 0;
  clarke_status status = CLARKE_OK;

  clarke_forward_init(&pass);
  if (b->graph.n_steps == 0) {
    status = read_phase(b, err);
    if (status == CLARKE_OK)
      status = replay_phase(b, false, err);
  }
  if (status == CLARKE_OK)
    status = clarke_replay_all(&pass, &b->replay, false, 64, err);
  b->found[0] = '\0';
  for (size_t i = 0; i < b->graph.n_steps && status == CLARKE_OK && layer < 4; i++) {
    const clarke_step *s = b->graph.steps[i].kind == CLARKE_PIECEWISE
                             ? dense_before(&b->graph, &b->graph.steps[i]) : NULL;

    if (s != NULL)
      status = one_rank(b, &pass.value[s->in[0].value], layer++, err);
  }
  clarke_forward_clear(&pass);
  return status;
}

/* What a dense step's product takes in floats, whatever the numbers: ones. A convolution's is one
 * product over all places. */
static clarke_status
gemm_times(double ms[2], const clarke_dense *d, size_t samples, clarke_error *err)
{
  size_t columns = samples * d->repeat * (d->grouped ? 1 : d->blocks);
  size_t sizes[3] = {d->outer * d->inner, d->inner * columns, d->outer * columns};
  int m = (int)d->outer, k = (int)d->inner, n = (int)columns;
  double *wide = malloc((sizes[0] + sizes[1] + sizes[2]) * sizeof *wide);
  float *narrow = malloc((sizes[0] + sizes[1] + sizes[2]) * sizeof *narrow);
  clarke_status status = CLARKE_OK;

  if (wide == NULL || narrow == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  else {
    double start;

    for (size_t i = 0; i < sizes[0] + sizes[1] + sizes[2]; i++)
      narrow[i] = (float)(wide[i] = 1);
    start = now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, narrow, k,
                narrow + sizes[0], n, 0, narrow + sizes[0] + sizes[1], n);
    ms[0] += now() - start;
    start = now();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, wide, k, wide + sizes[0], n,
                0, wide + sizes[0] + sizes[1], n);
    ms[1] += now() - start;
  }
  free(wide);
  free(narrow);
  return status;
}

static clarke_status
run_gemm(bench *b, clarke_error *err)
{
  double ms[2] = {0, 0};
  clarke_status status = CLARKE_OK;

  if (b->graph.n_steps == 0)
    status = read_phase(b, err);
  for (size_t i = 0; i < b->graph.n_steps && status == CLARKE_OK; i++)
    if (b->graph.steps[i].kind == CLARKE_DENSE)
      status = gemm_times(ms, &b->graph.steps[i].dense,
                          clarke_tensors_find(&b->batch, "x")->dims[0], err);
  if (status == CLARKE_OK)
    status = record(b, "sgemm", ms[0], err);
  return status == CLARKE_OK ? record(b, "dgemm", ms[1], err) : status;
}

/* --- */

static const struct {
  const char *name;
  clarke_status (*run)(bench *b, clarke_error *err);
} parts[] = {
  {"verdict", run_verdict}, {"exact", run_exact}, {"naive", run_naive}, {"rank", run_rank},
  {"gemm", run_gemm},
};

/* One run before, untimed, warms memory and caches; a long one counts. */
static clarke_status
repeat(bench *b, clarke_status (*run)(bench *b, clarke_error *err), clarke_error *err)
{
  double start = now();
  clarke_status status = run(b, err);

  if (now() - start > LONG)
    return status;
  start = now();
  for (series *s = b->times; s < b->times + MAX_SERIES; s++)
    s->n = 0;
  for (size_t i = 0; status == CLARKE_OK && (i < LEAST_RUNS || now() - start < 1e3 * b->seconds);
       i++)
    status = run(b, err);
  return status;
}

static clarke_status
run_part(bench *b, const char *name, clarke_error *err)
{
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strcmp(name, parts[i].name) == 0)
      return repeat(b, parts[i].run, err);
  return clarke_fail(err, CLARKE_EINPUT, "no part '%s'", name);
}

static void
print(const bench *b)
{
  printf("{\"times\": {");
  for (const series *s = b->times; s < b->times + MAX_SERIES && s->name != NULL; s++) {
    printf("%s\"%s\": [", s == b->times ? "" : ", ", s->name);
    for (size_t i = 0; i < s->n; i++)
      printf("%s%.6g", i == 0 ? "" : ", ", s->ms[i]);
    printf("]");
  }
  printf("}%s}\n", b->found);
}

static const char *
base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

int
main(int argc, char **argv)
{
  bench b = {0};
  clarke_error err = {0};
  clarke_status status = CLARKE_EINPUT;

#ifdef __GLIBC__ /* as the commands do */
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "Usage: audit_bench PART MODEL.onnx BATCH.npz SECONDS [PROOF]\n");
    return 2;
  }
  b.model_name = base_name(argv[2]);
  b.batch_name = base_name(argv[3]);
  b.seconds = strtod(argv[4], NULL);
  b.proof = argc == 6 ? argv[5] : NULL;
  run_init(&b);
  if (clarke_file_read(&b.model_file, argv[2], &err) == CLARKE_OK)
    status = clarke_file_read(&b.batch_file, argv[3], &err);
  if (status == CLARKE_OK)
    status = run_part(&b, argv[1], &err);
  if (status == CLARKE_OK)
    print(&b);
  else
    fprintf(stderr, "audit_bench: %s\n", err.text);
  run_clear(&b);
  clarke_file_clear(&b.model_file);
  clarke_file_clear(&b.batch_file);
  for (series *s = b.times; s < b.times + MAX_SERIES; s++)
    free(s->ms);
  return status == CLARKE_OK ? 0 : 2;
}
