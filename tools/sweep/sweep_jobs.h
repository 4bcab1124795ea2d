/* The jobs of a manifest: each checkpoint (or seed) with each minibatch. A job's id is the hash of all that its answer depends on. */
#ifndef CLARKE_TOOLS_SWEEP_JOBS_H
#define CLARKE_TOOLS_SWEEP_JOBS_H

#include "lines.h"

#include "format/file.h"
#include "format/manifest.h"
#include "op/profile.h"
#include "program/rounded.h"

#include <jansson.h>

typedef struct {
  char *path;
  char sha256[65];
} clarke_sweep_file;

typedef struct {
  char id[65];
  size_t weights; /* of the checkpoints, or of the seeds; CLARKE_NONE: the model's own */
  size_t batch;
} clarke_sweep_job;

typedef struct {
  clarke_manifest manifest;
  char *model_path, *wrt;
  clarke_file model;
  size_t n_checkpoints, n_batches;
  clarke_sweep_file *checkpoint, *batch;
  size_t n_profiles, n_formats;
  clarke_profile profile[CLARKE_MOST_PROFILES];
  clarke_sweep_file profile_file[CLARKE_MOST_PROFILES]; /* path: what clarke_profile_load takes */
  clarke_ieee format[CLARKE_FLOAT_FORMATS];
  size_t n;              /* jobs, by id */
  clarke_sweep_job *job;
  char id[65];           /* of all */
} clarke_sweep;

/* Reads the manifest, looks up its files and hashes them. Names in it are relative to its folder. reduction: NULL, or in place of
 * the manifest's. */
clarke_status clarke_sweep_read(clarke_sweep *s, const char *path, const char *reduction, clarke_error *err);
void clarke_sweep_clear(clarke_sweep *s);

/* The file of its answers. */
#define CLARKE_SWEEP_ANSWERS "clarke sweep 2"
extern const clarke_lines_form clarke_sweep_lines;
/* The first line of results, sealed, with no line end. */
clarke_status clarke_sweep_head(char **text, const clarke_sweep *s, clarke_error *err);
/* What a job's line says beside its answer: which weights and minibatch. */
json_t *clarke_sweep_about(const clarke_sweep *s, size_t job);

/* The id of a sweep, from its jobs' in order. */
clarke_status clarke_sweep_id(char id[65], const char *const *job, size_t n, clarke_error *err);

#endif
