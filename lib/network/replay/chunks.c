/* The filter over the batch: chunk by chunk of its samples, on threads; the few left open once more, finely. */
#include "network/replay/replay_inside.h"

#include "base/stop.h"
#include "network/pass/filter.h"
#include "network/pass/slices/plan.h"

#include <flint/flint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The filter takes at least so many samples at a time, for its products to be fast, and no more than have
 * so many entries of activations, for a layer of theirs to be near. */
#define CHUNK 32
#define PROBE 4
#define CHUNK_ENTRIES ((size_t)1 << 21)

/* The filter's part: some samples, and what it finds of them. */
typedef struct {
  const clarke_graph *g;
  const clarke_growths *growths;
  clarke_tensor x; /* a view of the batch */
  size_t first;
  bool fine;   /* by a fine pass */
  bool measured;
  clarke_branch **piece;
  size_t **ties, open;
  clarke_margin **margin; /* where it is measured */
  size_t lost; /* of the open: those that the filter followed */
  clarke_error err;
  clarke_status status;
} chunk;

static void
chunk_clear(chunk *c)
{
  for (size_t i = 0; c->piece != NULL && i < c->g->n_steps; i++)
    free(c->piece[i]);
  for (size_t i = 0; c->ties != NULL && i < c->g->n_steps; i++)
    free(c->ties[i]);
  free(c->piece);
  free(c->ties);
  clarke_margin_rows_free(c->margin, c->g->n_steps);
  c->piece = NULL;
  c->ties = NULL;
  c->margin = NULL;
}

static clarke_status
chunk_filter(chunk *c, bool fine, size_t limit)
{
  const clarke_filter_way way = {.fine = fine, .limit = limit, .growths = c->growths};
  size_t transcendental;

  c->piece = calloc(c->g->n_steps + 1, sizeof *c->piece);
  c->ties = calloc(c->g->n_steps + 1, sizeof *c->ties);
  c->margin = c->measured ? clarke_margin_rows(c->g, c->x.dims[0]) : NULL;
  if (c->piece == NULL || c->ties == NULL || (c->margin == NULL && c->measured))
    return clarke_no_memory(&c->err);
  c->status = clarke_filter_run(c->piece, c->ties, c->margin, &c->open, &transcendental, c->g, &c->x, &way, &c->err);
  c->fine = fine;
  c->lost = c->open;
  c->open += transcendental;
  return c->status;
}

/* Where the coarse pass loses more than an entry or two a sample it is given up, for a fine one. Samples that
 * are coupled get none by themselves later: then a single entry does. */
static size_t
most_lost(const clarke_replay *r, size_t n)
{
  return clarke_graph_couples(r->g) ? 0 : 2 * n;
}

/* Coupled samples are all run in slices where a fine pass loses one entry: then it is given up, too. */
static size_t
most_lost_finely(const clarke_replay *r)
{
  return clarke_graph_couples(r->g) && clarke_replay_is_deep(r->g) &&
             clarke_slices_serve(r->g, r->piece, r->samples) ? 0 : SIZE_MAX;
}

static void
chunk_begin(chunk *c, const clarke_replay *r, const clarke_growths *growths, size_t first, size_t n)
{
  size_t features = r->x->count / r->x->dims[0];

  memset(c, 0, sizeof *c);
  c->g = r->g;
  c->growths = growths;
  c->x = *r->x;
  c->first = first;
  c->measured = r->margins != NULL;
  c->x.dims[0] = n;
  c->x.count = features * n;
  if (c->x.real != NULL)
    c->x.real += first * features;
  if (c->x.integer != NULL)
    c->x.integer += first * features;
}

/* deep: the coarse pass is known to lose too much. */
static clarke_status
chunk_run(chunk *c, const clarke_replay *r, const clarke_growths *growths, size_t first, size_t n, bool deep)
{
  clarke_status status = CLARKE_OK;

  chunk_begin(c, r, growths, first, n);
  if (!deep)
    status = chunk_filter(c, false, most_lost(r, n));
  if (status == CLARKE_OK && growths == NULL && (deep || c->lost > most_lost(r, n))) {
    chunk_clear(c);
    status = chunk_filter(c, true, most_lost_finely(r));
  }
  return status;
}

/* Does the coarse pass lose too much of a few samples? Then it does of the others, as a rule. Windows want
 * bounds of their own: identities are asked for where entries come within their bounds of one another. */
static clarke_status
probe(bool *deep, const clarke_replay *r, const clarke_growths *growths, clarke_error *err)
{
  chunk c;
  clarke_status status;

  *deep = false;
  if (growths != NULL) /* there is no fine pass then */
    return CLARKE_OK;
  for (size_t i = 0; i < r->g->n_steps; i++)
    *deep = *deep || r->g->steps[i].kind == CLARKE_MAX;
  if (*deep || r->samples < 2 * CHUNK || clarke_graph_couples(r->g))
    return CLARKE_OK;
  chunk_begin(&c, r, growths, 0, PROBE);
  status = chunk_filter(&c, false, most_lost(r, PROBE));
  *deep = c.lost > most_lost(r, PROBE);
  if (status != CLARKE_OK && err != NULL)
    *err = c.err;
  chunk_clear(&c);
  return status;
}

static void
chunk_collect(clarke_replay *r, const chunk *c)
{
  size_t n = c->x.dims[0];

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = c->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++)
      memcpy(r->piece[i] + f * r->samples + c->first, c->piece[i] + f * n, n * sizeof **r->piece);
    if (c->ties[i] != NULL)
      memcpy(r->ties[i] + c->first, c->ties[i], n * sizeof **c->ties);
    if (c->margin != NULL && c->margin[i] != NULL)
      memcpy(r->margins->at[i] + c->first, c->margin[i], n * sizeof **c->margin);
  }
}

/* What the threads share: the chunks to come. */
typedef struct {
  clarke_replay *r;
  const clarke_growths *growths;
  bool deep;
  bool *coarse; /* by sample: no fine pass was run over it */
  size_t size;  /* samples of a chunk */
  size_t next, open;
  clarke_status status;
  clarke_error err;
  pthread_mutex_t lock;
} filtering;

static void
filter_chunks(filtering *all)
{
  for (;;) {
    chunk c = {0};
    size_t first, left;
    bool stop;

    pthread_mutex_lock(&all->lock);
    first = all->next;
    left = all->r->samples - first;
    all->next += left < all->size ? left : all->size;
    stop = left == 0 || all->status != CLARKE_OK;
    pthread_mutex_unlock(&all->lock);
    if (stop)
      return;
    c.status = chunk_run(&c, all->r, all->growths, first, left < all->size ? left : all->size, all->deep);
    pthread_mutex_lock(&all->lock);
    if (c.status == CLARKE_OK) {
      chunk_collect(all->r, &c); /* samples side by side: one thread at a time */
      all->open += c.open;
      for (size_t j = 0; j < c.x.dims[0]; j++)
        all->coarse[c.first + j] = !c.fine;
    } else if (all->status == CLARKE_OK) {
      all->status = c.status;
      all->err = c.err;
    }
    pthread_mutex_unlock(&all->lock);
    chunk_clear(&c);
  }
}

/* What Arb keeps for a thread, of cells that it made, goes with the thread. */
static void *
filter_on_thread(void *context)
{
  filter_chunks(context);
  flint_cleanup();
  return NULL;
}

/* Chunk by chunk, on up to `threads` threads; those that cannot be had are done without. */
static clarke_status
filter_all(clarke_replay *r, const clarke_growths *growths, size_t threads, size_t *open, bool *coarse,
           clarke_error *err)
{
  size_t each = r->g->activations / r->samples + 1, size = CHUNK_ENTRIES / each;
  size_t least = clarke_graph_couples(r->g) ? r->samples : CHUNK;
  filtering all = {.r = r, .growths = growths, .coarse = coarse, .size = size > least ? size : least,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
  size_t chunks = (r->samples + all.size - 1) / all.size, n = threads < chunks ? threads : chunks;
  pthread_t *thread = malloc((n + 1) * sizeof *thread);
  size_t begun = 0;

  clarke_work_begin("replay", chunks * r->g->n_steps);
  all.status = probe(&all.deep, r, growths, &all.err);
  while (thread != NULL && begun + 1 < n &&
         pthread_create(&thread[begun], NULL, filter_on_thread, &all) == 0)
    begun++;
  filter_chunks(&all);
  for (size_t i = 0; i < begun; i++)
    pthread_join(thread[i], NULL);
  free(thread);
  pthread_mutex_destroy(&all.lock);
  *open = all.open;
  if (all.status != CLARKE_OK && err != NULL)
    *err = all.err;
  return all.status;
}

/* The fine pass's places of sample j of its own into those of the whole batch. */
static void
replace_sample(clarke_replay *r, const chunk *c, size_t j, size_t sample)
{
  size_t n = c->x.dims[0];

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = c->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++)
      r->piece[i][f * r->samples + sample] = c->piece[i][f * n + j];
    if (c->ties[i] != NULL)
      r->ties[i][sample] = c->ties[i][j];
    if (c->margin != NULL && c->margin[i] != NULL)
      r->margins->at[i][sample] = c->margin[i][j];
  }
}

/* The few samples that the coarse filter left open, once more with a bound for every entry. *open becomes
 * what that leaves. */
static clarke_status
filter_again(clarke_replay *r, size_t *open, const bool *coarse, clarke_error *err)
{
  bool *mark = calloc(r->samples + 1, sizeof *mark);
  size_t *sample = malloc((r->samples + 1) * sizeof *sample), n = 0;
  clarke_status status = mark != NULL && sample != NULL
                           ? CLARKE_OK
                           : clarke_no_memory(err);

  if (status == CLARKE_OK)
    clarke_samples_mark(r, mark, false);
  for (size_t j = 0; status == CLARKE_OK && j < r->samples; j++)
    if (mark[j] && coarse[j])
      sample[n++] = j;
  if (n > r->samples / 2) /* not few: all have been tried, or follow transcendental functions */
    n = 0;
  for (size_t first = 0; first < n && status == CLARKE_OK; first += CHUNK) {
    chunk c = {.g = r->g, .measured = r->margins != NULL};
    size_t size = n - first < CHUNK ? n - first : CHUNK;

    status = clarke_samples_pick(&c.x, r, sample + first, size, err);
    if (status == CLARKE_OK)
      status = chunk_filter(&c, true, SIZE_MAX);
    if (status == CLARKE_OK)
      for (size_t j = 0; j < size; j++)
        replace_sample(r, &c, j, sample[first + j]);
    else if (err != NULL && c.err.text[0] != '\0')
      *err = c.err;
    free(c.x.real);
    chunk_clear(&c);
  }
  if (n > 0)
    *open = clarke_places_open(r->g, r->piece, r->samples);
  free(mark);
  free(sample);
  return status;
}

clarke_status
clarke_replay_filter(clarke_replay *r, const clarke_growths *growths, size_t threads, size_t *open, clarke_error *err)
{
  bool *coarse = calloc(r->samples + 1, sizeof *coarse);
  clarke_status status = coarse != NULL ? filter_all(r, growths, threads, open, coarse, err)
                                        : clarke_no_memory(err);

  if (status == CLARKE_OK && (growths != NULL || clarke_graph_couples(r->g))) /* chunks may have been given up */
    *open = clarke_places_open(r->g, r->piece, r->samples);
  else if (status == CLARKE_OK && *open > 0 && !clarke_graph_couples(r->g))
    status = filter_again(r, open, coarse, err);
  free(coarse);
  return status;
}
