/* Threads that follow sign vectors (workers.h).
 *
 * Jobs lie in a ring, in the order of the tree, and are begun in that order. Regions found wait in their job until they are told;
 * a thread whose job has many of them waits, unless its job is the one being told. That one is always begun before the others. So
 * somebody can always go on. */
#include "region/workers.h"
#include "base/stop.h"
#include "exact/cone.h"

#include <flint/fmpz_vec.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 32      /* for each thread */
#define MOST_WAIT 512 /* regions of one job that wait to be told */

typedef struct found {
  struct found *next;
  fmpz_mat_t cone;
  clarke_witness point;
  fmpz *outputs;         /* their forms */
  unsigned char *choice; /* of live instructions */
  size_t spent;          /* work in its job before it was found */
} found;

typedef struct {
  signed char *sign;
  clarke_witness at;
  found *first, **last; /* not told yet */
  size_t waiting;
  size_t before, spent; /* work of the caller until it was put; its own */
  bool done;
  clarke_regions result;
  clarke_status status;
  clarke_error err;
} job;

struct workers;

typedef struct {
  struct workers *workers;
  pthread_t thread;
  clarke_forms forms;
  clarke_region_search search;
  job *job;
  size_t before; /* what its count began with */
} member;

typedef struct workers {
  clarke_region_level *level;
  pthread_mutex_t lock;
  pthread_cond_t change;
  clarke_work_count spent; /* in jobs that were told: in all, where one thread would have followed them before what comes */
  size_t room, told, taken, put; /* jobs, counted from the first; told <= taken <= put <= told + room */
  job *job;                      /* a ring */
  bool quit, all_put;
  size_t n;
  member *member;
  clarke_forms shown;            /* those of outputs, as the visitor sees them */
  unsigned char *choice;
} workers;

/* --- regions that wait ----------------------------------------------------------------------- */

static void
found_free(found *f, const clarke_forms *forms)
{
  fmpz_mat_clear(f->cone);
  clarke_witness_clear(&f->point);
  if (f->outputs != NULL)
    _fmpz_vec_clear(f->outputs, (slong)(forms->p->n_outputs * (forms->dim + 1)));
  free(f->choice);
  free(f);
}

static clarke_status
found_new(found **to, const clarke_region *region, clarke_error *err)
{
  const clarke_forms *forms = region->forms;
  const size_t width = forms->dim + 1;
  found *f = calloc(1, sizeof *f);
  clarke_status status;

  if (f == NULL)
    return clarke_no_memory(err);
  fmpz_mat_init_set(f->cone, region->cone);
  f->outputs = _fmpz_vec_init((slong)(forms->p->n_outputs * width));
  for (size_t o = 0; o < forms->p->n_outputs; o++)
    _fmpz_vec_set(f->outputs + o * width, clarke_forms_at(forms, forms->p->output[o]), (slong)width);
  f->choice = malloc(forms->n_live + 1);
  status = clarke_witness_init(&f->point, (size_t)fmpz_mat_ncols(region->cone), err);
  if (status == CLARKE_OK && f->choice == NULL)
    status = clarke_no_memory(err);
  if (status != CLARKE_OK) {
    found_free(f, forms);
    return status;
  }
  for (size_t k = 0; k < forms->n_live; k++)
    f->choice[k] = region->choice[forms->live[k]];
  clarke_witness_set(&f->point, region->point, (size_t)fmpz_mat_ncols(region->cone));
  *to = f;
  return CLARKE_OK;
}

/* The visitor of a member. */
static clarke_status
keep(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  member *m = context;
  workers *c = m->workers;
  found *f = NULL;
  clarke_status status = found_new(&f, region, err);

  if (status != CLARKE_OK)
    return status;
  pthread_mutex_lock(&c->lock);
  f->spent = clarke_work_counted().spent - m->before;
  *m->job->last = f;
  m->job->last = &f->next;
  m->job->waiting++;
  pthread_cond_broadcast(&c->change);
  while (m->job->waiting >= MOST_WAIT && !c->quit)
    pthread_cond_wait(&c->change, &c->lock);
  *go_on = !c->quit;
  pthread_mutex_unlock(&c->lock);
  return CLARKE_OK;
}

/* --- members --------------------------------------------------------------------------------- */

/* Its work is limited by what is left when it begins, or more: jobs before it may go on. What is told of it is cut off later. */
static void
work(member *m, job *j, size_t before)
{
  clarke_region_level level = *m->workers->level;
  bool go_on;

  m->before = before;
  clarke_work_count_from((clarke_work_count){m->workers->spent.limited, before});

  level.s = &m->search;
  m->job = j;
  m->search.ended = false;
  memset(&j->result, 0, sizeof j->result);
  m->search.result = &j->result;
  j->status = clarke_region_search_follow(&level, &go_on, j->sign, &j->at, &j->err);
  j->spent = clarke_work_counted().spent - before;
}

static void *
take_jobs(void *of)
{
  member *m = of;
  workers *c = m->workers;

  pthread_mutex_lock(&c->lock);
  while (!c->quit && (c->taken < c->put || !c->all_put)) {
    job *j = &c->job[c->taken % c->room];
    size_t before;

    if (c->taken == c->put) {
      pthread_cond_wait(&c->change, &c->lock);
      continue;
    }
    c->taken++;
    before = j->before + c->spent.spent;
    pthread_mutex_unlock(&c->lock);
    work(m, j, before);
    pthread_mutex_lock(&c->lock);
    j->done = true;
    pthread_cond_broadcast(&c->change);
  }
  pthread_mutex_unlock(&c->lock);
  clarke_cone_end_thread();
  flint_cleanup();
  return NULL;
}

/* The state of the search that the level is one of. */
static clarke_status
member_init(member *m, workers *c, clarke_error *err)
{
  const clarke_region_search *s = c->level->s;
  const size_t n = s->forms->p->n + 1;
  clarke_status status = clarke_forms_share(&m->forms, s->forms, err);

  m->workers = c;
  m->search = (clarke_region_search){.forms = &m->forms, .local = s->local, .width = s->width, .visit = keep, .context = m, .threads = 1};
  if (status == CLARKE_OK)
    status = clarke_region_search_init(&m->search, err);
  if (status != CLARKE_OK)
    return status;
  memcpy(m->search.known, s->known, n * sizeof *s->known);
  memcpy(m->search.asked, s->asked, n * sizeof *s->asked);
  memcpy(m->search.side, s->side, CLARKE_MAX_KINKS * n * sizeof *s->side);
  memcpy(m->search.choice, s->choice, n);
  return CLARKE_OK;
}

static void
member_clear(member *m)
{
  clarke_region_search_clear(&m->search);
  clarke_forms_unshare(&m->forms);
}

/* --- telling --------------------------------------------------------------------------------- */

static clarke_status
show(workers *c, const found *f, clarke_error *err)
{
  clarke_region_search *s = c->level->s;
  const clarke_region region = {&c->shown, f->cone, &f->point, c->choice};
  const size_t width = c->shown.dim + 1;

  for (size_t k = 0; k < c->shown.n_live; k++)
    c->choice[c->shown.live[k]] = f->choice[k];
  for (size_t o = 0; o < c->shown.p->n_outputs; o++)
    _fmpz_vec_set(clarke_forms_at(&c->shown, c->shown.p->output[o]), f->outputs + o * width, (slong)width);
  return clarke_region_search_tell(s, &region, err);
}

/* The next region of the job, waited for; NULL: it is done, and there is none. */
static found *
next_found(workers *c, job *j)
{
  found *f;

  pthread_mutex_lock(&c->lock);
  while (j->first == NULL && !j->done)
    pthread_cond_wait(&c->change, &c->lock);
  f = j->first;
  if (f != NULL) {
    j->first = f->next;
    if (j->first == NULL)
      j->last = &j->first;
    j->waiting--;
    pthread_cond_broadcast(&c->change);
  }
  pthread_mutex_unlock(&c->lock);
  return f;
}

/* Would one thread, which follows a job when it is put, have been stopped by now? So much of the job is done. */
static bool
is_beyond(const workers *c, const job *j, size_t spent)
{
  return clarke_work_beyond((clarke_work_count){c->spent.limited, j->before + c->spent.spent + spent});
}

/* What the visitor does is counted with what was told, for the caller may be ahead. */
static clarke_status
show_apart(workers *c, const found *f, clarke_error *err)
{
  const clarke_work_count own = clarke_work_counted();
  const clarke_status status = show(c, f, err);

  pthread_mutex_lock(&c->lock);
  c->spent.spent += clarke_work_counted().spent - own.spent;
  pthread_mutex_unlock(&c->lock);
  clarke_work_count_from(own);
  return status;
}

/* Its regions, one after another. */
static clarke_status
tell_found(workers *c, job *j, clarke_error *err)
{
  clarke_region_search *s = c->level->s;
  clarke_status status = CLARKE_OK;
  found *f;

  while (status == CLARKE_OK && !s->ended && (f = next_found(c, j)) != NULL) {
    if (is_beyond(c, j, f->spent)) {
      s->result->stopped = s->ended = true;
      c->spent.spent += f->spent;
    } else
      status = show_apart(c, f, err);
    found_free(f, s->forms);
  }
  return status;
}

/* All of the oldest job. */
static clarke_status
tell_job(workers *c, clarke_error *err)
{
  clarke_region_search *s = c->level->s;
  job *j = &c->job[c->told % c->room];
  clarke_status status = tell_found(c, j, err);

  if (status != CLARKE_OK || s->ended)
    return status;
  if (j->status != CLARKE_OK) {
    if (err != NULL)
      *err = j->err;
    return j->status;
  }
  s->result->programs += j->result.programs;
  s->result->circuits += j->result.circuits;
  s->result->undecided = s->result->undecided || j->result.undecided;
  s->result->stopped = s->result->stopped || j->result.stopped || is_beyond(c, j, j->spent);
  s->result->deep = s->result->deep || j->result.deep;
  s->ended = j->result.undecided || s->result->stopped || j->result.deep;
  pthread_mutex_lock(&c->lock);
  c->spent.spent += j->spent;
  pthread_mutex_unlock(&c->lock);
  c->told++;
  return CLARKE_OK;
}

/* The caller's visitor of the arrangement. */
static clarke_status
put_job(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  workers *c = context;
  const clarke_rows *rows = c->level->rows;
  job *j = &c->job[c->put % c->room];
  clarke_status status = CLARKE_OK;

  if (c->put - c->told == c->room)
    status = tell_job(c, err);
  *go_on = !c->level->s->ended;
  if (status != CLARKE_OK || !*go_on)
    return status;
  memcpy(j->sign, sign, rows->n);
  clarke_witness_set(&j->at, w, rows->dim);
  j->before = clarke_work_counted().spent;
  j->last = &j->first;
  j->waiting = 0;
  j->done = false;
  j->err = (clarke_error){CLARKE_OK, ""};
  pthread_mutex_lock(&c->lock);
  c->put++;
  pthread_cond_broadcast(&c->change);
  pthread_mutex_unlock(&c->lock);
  return CLARKE_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static clarke_status
workers_init(workers *c, clarke_region_level *l, clarke_error *err)
{
  clarke_status status = clarke_forms_share(&c->shown, l->s->forms, err);

  c->level = l;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->change, NULL);
  c->room = JOBS * l->threads;
  c->job = calloc(c->room, sizeof *c->job);
  c->member = calloc(l->threads, sizeof *c->member);
  c->choice = malloc(l->s->forms->p->n + 1);
  if (status == CLARKE_OK && (c->job == NULL || c->member == NULL || c->choice == NULL))
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    memcpy(c->choice, l->s->choice, l->s->forms->p->n + 1);
  for (size_t k = 0; k < c->room && status == CLARKE_OK; k++) {
    c->job[k].sign = malloc(l->rows->n + 1);
    status = c->job[k].sign != NULL ? clarke_witness_init(&c->job[k].at, l->rows->dim, err) : clarke_no_memory(err);
  }
  for (; c->n < l->threads && status == CLARKE_OK; c->n++) {
    status = member_init(&c->member[c->n], c, err);
    if (status == CLARKE_OK && pthread_create(&c->member[c->n].thread, NULL, take_jobs, &c->member[c->n]) != 0)
      break;
    if (status != CLARKE_OK)
      break;
  }
  return status;
}

/* Whoever works ends soon: all is told, or nothing more is to be. */
static void
workers_end(workers *c)
{
  pthread_mutex_lock(&c->lock);
  c->quit = true;
  pthread_cond_broadcast(&c->change);
  pthread_mutex_unlock(&c->lock);
  for (size_t k = 0; k < c->n; k++)
    pthread_join(c->member[k].thread, NULL);
}

static void
workers_clear(workers *c)
{
  for (size_t k = 0; c->job != NULL && k < c->room; k++) {
    for (found *f = c->job[k].first, *next; f != NULL; f = next) {
      next = f->next;
      found_free(f, &c->shown);
    }
    free(c->job[k].sign);
    clarke_witness_clear(&c->job[k].at);
  }
  for (size_t k = 0; c->member != NULL && k < c->level->threads; k++)
    member_clear(&c->member[k]);
  pthread_mutex_destroy(&c->lock);
  pthread_cond_destroy(&c->change);
  clarke_forms_unshare(&c->shown);
  free(c->job);
  free(c->member);
  free(c->choice);
}

clarke_status
clarke_workers_enumerate(clarke_sign_tree *tree, clarke_region_level *l, const clarke_witness *start, clarke_error *err)
{
  workers c = {.spent.limited = clarke_work_counted().limited};
  const clarke_sign_visitor alone = {.context = l, .leaf = clarke_region_search_follow}, together = {.context = &c, .leaf = put_job};
  clarke_status status = workers_init(&c, l, err);

  if (status == CLARKE_OK)
    status = clarke_sign_vectors(tree, l->rows, l->fixed, start, c.n > 0 ? &together : &alone, err);
  pthread_mutex_lock(&c.lock);
  c.all_put = true;
  pthread_cond_broadcast(&c.change);
  pthread_mutex_unlock(&c.lock);
  while (status == CLARKE_OK && !l->s->ended && c.told < c.put)
    status = tell_job(&c, err);
  workers_end(&c);
  clarke_work_spend(c.spent.spent);
  workers_clear(&c);
  return status;
}
