#include "network/replay.h"

#include "network/filter.h"
#include "base/verify.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION_FIRST 64
#define PRECISION_LAST 512
/* Bits of the enclosures between filter and exact pass: a word an entry, then three. */
#define REFINE_FIRST 63
#define REFINE_LAST 191
/* Samples at a time: first a few. */
#define REFINE_BEGIN 16
#define REFINE_GROUP 32
/* The filter takes at least so many samples at a time, for its products to be fast, and no more than have
 * so many entries of activations, for a layer of theirs to be near. */
#define CHUNK 32
#define PROBE 4
#define CHUNK_ENTRIES ((size_t)1 << 21)
/* Entries of activations that the exact pass may hold: several words each, in what follows too. */
#define GROUP_ENTRIES ((size_t)1 << 24)
/* Coupled samples are one group, whatever their number: some gigabytes at most. */
#define COUPLED_ENTRIES ((size_t)1 << 26)

void
clarke_replay_init(clarke_replay *r)
{
  memset(r, 0, sizeof *r);
  clarke_forward_init(&r->near);
}

void
clarke_replay_clear(clarke_replay *r)
{
  for (size_t i = 0; r->piece != NULL && i < r->g->n_steps; i++)
    free(r->piece[i]);
  for (size_t i = 0; r->ties != NULL && i < r->g->n_steps; i++)
    free(r->ties[i]);
  for (size_t k = 0; k < r->n_touches; k++)
    free(r->touch[k].option);
  free(r->piece);
  free(r->ties);
  free(r->near_sample);
  free(r->touch);
  clarke_forward_clear(&r->near);
  if (r->g != NULL)
    clarke_constants_clear(&r->constants);
  clarke_replay_init(r);
}

static clarke_status
check_batch(const clarke_tensor *x, clarke_error *err)
{
  for (size_t i = 0; x->real == NULL && i < x->count; i++)
    if (x->integer[i] > (1LL << 53) || x->integer[i] < -(1LL << 53))
      return clarke_fail(err, CLARKE_EINPUT, "x: entry %zu is over 2^53 in absolute value", i);
  return CLARKE_OK;
}

/* Those samples as features x samples, exact. Integers below 2^53 are doubles. */
static clarke_status
set_input(clarke_matrix *input, const clarke_tensor *x, const size_t *sample, size_t n,
          clarke_error *err)
{
  size_t features = x->count / x->dims[0];
  double *column = malloc((features * n + 1) * sizeof *column);
  clarke_status status;

  if (column == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < features; i++) {
      size_t from = sample[j] * features + i;

      column[i * n + j] = x->real != NULL ? x->real[from] : (double)x->integer[from];
    }
  status = clarke_matrix_set_doubles(input, features, n, column, err);
  free(column);
  return status;
}

/* The samples with an open entry, or with one at a kink. */
static void
mark_samples(const clarke_replay *r, bool *mark, bool touched)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++) {
      const int8_t *code = r->piece[i] + f * r->samples;

      if (!touched && memchr(code, CLARKE_OPEN, r->samples) == NULL)
        continue;
      for (size_t j = 0; j < r->samples; j++)
        mark[j] |= code[j] == CLARKE_OPEN || (touched && code[j] < 0);
    }
  }
}

/* All entries open: what is not decided by the filter. */
static clarke_status
leave_all_open(clarke_replay *r, size_t *open, clarke_error *err)
{
  *open = 0;
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t entries = r->g->values[r->g->steps[i].out].count * r->samples;

    if (!clarke_step_has_kinks(&r->g->steps[i]))
      continue;
    r->piece[i] = malloc(entries + 1);
    if (r->g->steps[i].kind == CLARKE_MAX)
      r->ties[i] = calloc(r->samples + 1, sizeof **r->ties);
    if (r->piece[i] == NULL || (r->g->steps[i].kind == CLARKE_MAX && r->ties[i] == NULL))
      return clarke_no_memory(err);
    memset(r->piece[i], CLARKE_OPEN, entries);
    *open += entries;
  }
  return CLARKE_OK;
}

/* The exact pass over the first n of near_sample. Growing precision may settle what is open. */
static clarke_status
run_near(clarke_replay *r, const size_t *sample, size_t n, const bool *needed, clarke_error *err)
{
  clarke_matrix input;
  clarke_status status;

  clarke_matrix_init(&input);
  status = set_input(&input, r->x, sample, n, err);
  for (long p = PRECISION_FIRST; status == CLARKE_OK && p <= PRECISION_LAST; p *= 2) {
    status = clarke_forward_run(&r->near, &r->constants, &input, needed, p, err);
    if (r->near.open == 0)
      break;
  }
  clarke_matrix_clear(&input);
  return status;
}

/* A window's options, as features of the step's operand. */
static clarke_status
set_options(clarke_touch *t, const clarke_replay *r, clarke_error *err)
{
  const clarke_step *s = &r->g->steps[t->step];
  size_t place[CLARKE_MAX_WIDTH];

  if (s->kind != CLARKE_MAX)
    return CLARKE_OK;
  t->n_options = clarke_window_options(place, &r->near, t->step, t->feature, t->column);
  t->option = malloc(t->n_options * sizeof *t->option);
  if (t->option == NULL)
    return clarke_no_memory(err);
  for (size_t o = 0; o < t->n_options; o++)
    t->option[o] = s->in[0].map[t->feature * s->width + place[o]];
  return CLARKE_OK;
}

static clarke_status
add_touch(clarke_replay *r, size_t *capacity, clarke_touch touch, clarke_error *err)
{
  clarke_status status;

  if (r->n_touches == *capacity) {
    size_t wanted = 2 * *capacity + 64;
    clarke_touch *grown = realloc(r->touch, wanted * sizeof *grown);

    if (grown == NULL)
      return clarke_no_memory(err);
    r->touch = grown;
    *capacity = wanted;
  }
  r->touch[r->n_touches++] = touch;
  status = set_options(&r->touch[r->n_touches - 1], r, err);
  r->touch[r->n_touches - 1].first_condition = r->n_conditions;
  r->n_conditions += clarke_touch_conditions(&r->touch[r->n_touches - 1]);
  return status;
}

/* The exact pass's places into the whole batch's. */
static void
collect_places(clarke_replay *r, const size_t *sample)
{
  size_t n = r->near.n;

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t j = 0; j < n && r->ties[i] != NULL; j++)
      r->ties[i][sample[j]] = r->near.ties[i][j];
    for (size_t f = 0; f < count; f++)
      for (size_t j = 0; j < n; j++) {
        r->piece[i][f * r->samples + sample[j]] = r->near.piece[i][f * n + j];
        r->open += r->near.piece[i][f * n + j] == CLARKE_OPEN;
      }
  }
}

/* The touches of the pass at hand, in order. */
static clarke_status
collect_touches(clarke_replay *r, clarke_error *err)
{
  size_t n = r->near.n, capacity = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t e = 0; e < count * n && status == CLARKE_OK; e++) {
      int8_t code = r->near.piece[i][e];

      if (code < 0 && code != CLARKE_OPEN)
        status = add_touch(r, &capacity,
                           (clarke_touch){.step = i, .feature = e / n,
                                          .sample = r->near_sample[e % n],
                                          .kink = CLARKE_KINK_OF(code), .column = e % n}, err);
    }
  }
  return status;
}

/* Those samples as a batch of their own. */
static clarke_status
pick_samples(clarke_tensor *x, const clarke_replay *r, const size_t *sample, size_t n,
             clarke_error *err)
{
  size_t features = r->x->count / r->x->dims[0];

  *x = *r->x;
  x->dims[0] = n;
  x->count = n * features;
  x->integer = NULL;
  x->real = malloc((n * features + 1) * sizeof *x->real);
  if (x->real == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < features; i++) {
      size_t from = sample[j] * features + i;

      x->real[j * features + i] = r->x->real != NULL ? r->x->real[from]
                                                     : (double)r->x->integer[from];
    }
  return CLARKE_OK;
}

/* The open ones among places over n samples. */
static size_t
count_open(const clarke_graph *g, int8_t *const *piece, size_t n)
{
  size_t open = 0;

  for (size_t i = 0; i < g->n_steps; i++) {
    size_t entries = piece[i] != NULL ? g->values[g->steps[i].out].count * n : 0;

    for (size_t e = 0; e < entries; e++)
      open += piece[i][e] == CLARKE_OPEN;
  }
  return open;
}

/* Places of those samples: taken out of the whole batch's, or put back there. */
static void
move_places(const clarke_replay *r, int8_t **piece, const size_t *sample, size_t n, bool back)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++)
      for (size_t j = 0; j < n; j++) {
        int8_t *all = &r->piece[i][f * r->samples + sample[j]], *here = &piece[i][f * n + j];

        *(back ? all : here) = *(back ? here : all);
      }
  }
}

/* Those samples' places and no ties yet, as a pass over them wants them. */
static clarke_status
take_places(int8_t **piece, size_t **ties, const clarke_replay *r, const size_t *sample, size_t n,
            clarke_error *err)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    if (r->piece[i] == NULL)
      continue;
    piece[i] = malloc(count * n + 1);
    ties[i] = calloc(n + 1, sizeof **ties);
    if (piece[i] == NULL || ties[i] == NULL)
      return clarke_no_memory(err);
  }
  move_places(r, piece, sample, n, false);
  return CLARKE_OK;
}

/* Open places of those samples in enclosures of that many bits. *worth: half of them are decided. */
static clarke_status
refine_group(bool *worth, clarke_replay *r, const size_t *sample, size_t n, size_t bits,
             clarke_error *err)
{
  size_t open = 0, left;
  int8_t **piece = calloc(r->g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(r->g->n_steps + 1, sizeof *ties);
  clarke_tensor x = {0};
  clarke_matrix input;
  clarke_status status = piece != NULL && ties != NULL
                           ? pick_samples(&x, r, sample, n, err)
                           : clarke_no_memory(err);

  clarke_matrix_init(&input);
  if (status == CLARKE_OK)
    status = take_places(piece, ties, r, sample, n, err);
  if (status == CLARKE_OK)
    status = set_input(&input, r->x, sample, n, err);
  if (status == CLARKE_OK) {
    open = count_open(r->g, piece, n);
    status = clarke_forward_refine(piece, ties, &r->constants, &input, &x, bits, err);
  }
  if (status == CLARKE_OK) {
    left = count_open(r->g, piece, n);
    *worth = left <= open / 2;
    r->refined += open - left;
    move_places(r, piece, sample, n, true);
  }
  for (size_t i = 0; i < r->g->n_steps && status == CLARKE_OK; i++)
    for (size_t j = 0; j < n && r->ties[i] != NULL; j++)
      r->ties[i][sample[j]] += ties[i][j];
  for (size_t i = 0; i < r->g->n_steps && piece != NULL && ties != NULL; i++) {
    free(piece[i]);
    free(ties[i]);
  }
  free(piece);
  free(ties);
  free(x.real);
  clarke_matrix_clear(&input);
  return status;
}

/* The samples with an open entry (all where they are coupled), and how many. */
static clarke_status
find_open_samples(size_t **sample, size_t *n, const clarke_replay *r, clarke_error *err)
{
  bool *mark = calloc(r->samples + 1, sizeof *mark), any = false;

  *n = 0;
  *sample = malloc((r->samples + 1) * sizeof **sample);
  if (mark == NULL || *sample == NULL) {
    free(mark);
    return clarke_no_memory(err);
  }
  mark_samples(r, mark, false);
  for (size_t j = 0; j < r->samples; j++)
    any = any || mark[j];
  for (size_t j = 0; j < r->samples; j++)
    if (mark[j] || (any && clarke_graph_couples(r->g)))
      (*sample)[(*n)++] = j;
  free(mark);
  return CLARKE_OK;
}

/* Is every value before a kink one that the filter follows? Enclosures of others are the exact pass's. */
static bool
algebraic(const clarke_graph *g, const bool *needed)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (needed[g->steps[i].out] &&
        (g->steps[i].kind == CLARKE_ANALYTIC || g->steps[i].kind == CLARKE_SOFTMAX))
      return false;
  return true;
}

/* Between filter and exact pass. *left: the samples with entries that are still open. */
static clarke_status
refine_open(clarke_replay *r, size_t *left, clarke_error *err)
{
  static const size_t bits[] = {REFINE_FIRST, REFINE_LAST};
  size_t *sample = NULL, n;
  bool worth = true;
  clarke_status status = find_open_samples(&sample, &n, r, err);

  for (size_t k = 0; k < sizeof bits / sizeof *bits && n > 0 && worth && status == CLARKE_OK; k++) {
    for (size_t first = 0, size; first < n && worth && status == CLARKE_OK; first += size) {
      size = clarke_graph_couples(r->g) ? n : first == 0 ? REFINE_BEGIN : REFINE_GROUP;
      if (size > n - first)
        size = n - first;
      status = refine_group(&worth, r, sample + first, size, bits[k], err);
    }
    free(sample);
    sample = NULL;
    if (status == CLARKE_OK)
      status = find_open_samples(&sample, &n, r, err);
  }
  free(sample);
  *left = n;
  return status;
}

/* Samples whose exact pass may be held at a time. */
static size_t
group_size(const clarke_replay *r)
{
  size_t each = r->g->activations / r->samples + 1;

  if (clarke_graph_couples(r->g))
    return r->samples;
  return each < GROUP_ENTRIES ? GROUP_ENTRIES / each : 1;
}

/* near_sample[0..n): those samples, group by group; it ends as those of them that must be kept, with the
 * pass over them. */
static clarke_status
run_groups(clarke_replay *r, size_t n, const bool *needed, clarke_error *err)
{
  size_t group = group_size(r), kept = 0;
  bool *touched = calloc(r->samples + 1, sizeof *touched);
  clarke_status status = touched != NULL ? CLARKE_OK
                                         : clarke_no_memory(err);

  for (size_t first = 0; first < n && status == CLARKE_OK; first += group) {
    size_t size = n - first < group ? n - first : group;

    status = run_near(r, r->near_sample + first, size, needed, err);
    if (status == CLARKE_OK)
      collect_places(r, r->near_sample + first);
  }
  if (status == CLARKE_OK && n > group) {
    mark_samples(r, touched, true);
    for (size_t j = 0; j < n; j++)
      if (touched[r->near_sample[j]])
        r->near_sample[kept++] = r->near_sample[j];
    status = run_near(r, r->near_sample, kept, needed, err);
    r->open += status == CLARKE_OK ? r->near.open : 0; /* other samples beside one round it otherwise */
  }
  free(touched);
  return status == CLARKE_OK ? collect_touches(r, err) : status;
}

static clarke_status
check_coupled(const clarke_replay *r, clarke_error *err)
{
  return clarke_graph_couples(r->g) && r->g->activations > COUPLED_ENTRIES
           ? clarke_fail(err, CLARKE_EINPUT, "%s: the %zu samples are normalized together, and an exact pass "
                         "over them would hold %zu entries; at most %zu are taken: use a smaller minibatch",
                         r->g->file, r->samples, r->g->activations, COUPLED_ENTRIES)
           : CLARKE_OK;
}

/* What the filter left open, with all entries open if there was none: in enclosures, then exactly. */
static clarke_status
run_open(clarke_replay *r, bool refine, clarke_error *err)
{
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  size_t n = 1;
  clarke_status status = needed != NULL ? clarke_constants_init(&r->constants, r->g, err)
                                        : clarke_no_memory(err);

  if (status == CLARKE_OK)
    clarke_graph_needed(r->g, true, needed);
  if (status == CLARKE_OK && refine && algebraic(r->g, needed))
    status = refine_open(r, &n, err);
  if (status == CLARKE_OK && n > 0)
    status = check_coupled(r, err);
  if (status == CLARKE_OK && n > 0)
    status = find_open_samples(&r->near_sample, &n, r, err);
  if (status == CLARKE_OK && n > 0)
    status = run_groups(r, n, needed, err);
  free(needed);
  return status;
}

/* The filter's part: some samples, and what it finds of them. */
typedef struct {
  const clarke_graph *g;
  clarke_tensor x; /* a view of the batch */
  size_t first;
  bool fine;   /* by a fine pass */
  int8_t **piece;
  size_t **ties, open;
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
  c->piece = NULL;
  c->ties = NULL;
}

static clarke_status
chunk_filter(chunk *c, bool fine, size_t limit)
{
  size_t foreign;

  c->piece = calloc(c->g->n_steps + 1, sizeof *c->piece);
  c->ties = calloc(c->g->n_steps + 1, sizeof *c->ties);
  if (c->piece == NULL || c->ties == NULL)
    return clarke_no_memory(&c->err);
  c->status = clarke_filter_run(c->piece, c->ties, &c->open, &foreign, c->g, &c->x, fine, limit,
                                &c->err);
  c->fine = fine;
  c->lost = c->open;
  c->open += foreign;
  return c->status;
}

/* Where the coarse pass loses more than an entry or two a sample it is given up, for a fine one. Samples that
 * are coupled get none by themselves later: then a single entry does. */
static size_t
most_lost(const clarke_replay *r, size_t n)
{
  return clarke_graph_couples(r->g) ? 0 : 2 * n;
}

static void
chunk_begin(chunk *c, const clarke_replay *r, size_t first, size_t n)
{
  size_t features = r->x->count / r->x->dims[0];

  memset(c, 0, sizeof *c);
  c->g = r->g;
  c->x = *r->x;
  c->first = first;
  c->x.dims[0] = n;
  c->x.count = features * n;
  if (c->x.real != NULL)
    c->x.real += first * features;
  if (c->x.integer != NULL)
    c->x.integer += first * features;
}

/* deep: the coarse pass is known to lose too much. */
static clarke_status
chunk_run(chunk *c, const clarke_replay *r, size_t first, size_t n, bool deep)
{
  clarke_status status = CLARKE_OK;

  chunk_begin(c, r, first, n);
  if (!deep)
    status = chunk_filter(c, false, most_lost(r, n));
  if (status == CLARKE_OK && (deep || c->lost > most_lost(r, n))) {
    chunk_clear(c);
    status = chunk_filter(c, true, SIZE_MAX);
  }
  return status;
}

/* Does the coarse pass lose too much of a few samples? Then it does of the others, as a rule. Windows want
 * bounds of their own: identities are asked for where entries come within their bounds of one another. */
static clarke_status
probe(bool *deep, const clarke_replay *r, clarke_error *err)
{
  chunk c;
  clarke_status status;

  *deep = false;
  for (size_t i = 0; i < r->g->n_steps; i++)
    *deep = *deep || r->g->steps[i].kind == CLARKE_MAX;
  if (*deep || r->samples < 2 * CHUNK || clarke_graph_couples(r->g))
    return CLARKE_OK;
  chunk_begin(&c, r, 0, PROBE);
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
      memcpy(r->piece[i] + f * r->samples + c->first, c->piece[i] + f * n, n);
    if (c->ties[i] != NULL)
      memcpy(r->ties[i] + c->first, c->ties[i], n * sizeof **c->ties);
  }
}

/* What the threads share: the chunks to come. */
typedef struct {
  clarke_replay *r;
  bool deep;
  bool *coarse; /* by sample: no fine pass was run over it */
  size_t size;  /* samples of a chunk */
  size_t next, open;
  clarke_status status;
  clarke_error err;
  pthread_mutex_t lock;
} filtering;

static void *
filter_chunks(void *context)
{
  filtering *all = context;

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
      return NULL;
    c.status = chunk_run(&c, all->r, first, left < all->size ? left : all->size, all->deep);
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

/* Chunk by chunk, on up to `threads` threads; those that cannot be had are done without. */
static clarke_status
filter_all(clarke_replay *r, size_t threads, size_t *open, bool *coarse, clarke_error *err)
{
  size_t each = r->g->activations / r->samples + 1, size = CHUNK_ENTRIES / each;
  size_t least = clarke_graph_couples(r->g) ? r->samples : CHUNK;
  filtering all = {.r = r, .coarse = coarse, .size = size > least ? size : least,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
  size_t chunks = (r->samples + all.size - 1) / all.size, n = threads < chunks ? threads : chunks;
  pthread_t *thread = malloc((n + 1) * sizeof *thread);
  size_t begun = 0;

  all.status = probe(&all.deep, r, &all.err);
  while (thread != NULL && begun + 1 < n &&
         pthread_create(&thread[begun], NULL, filter_chunks, &all) == 0)
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
    mark_samples(r, mark, false);
  for (size_t j = 0; status == CLARKE_OK && j < r->samples; j++)
    if (mark[j] && coarse[j])
      sample[n++] = j;
  if (n > r->samples / 2) /* not few: all have been tried, or follow transcendental functions */
    n = 0;
  for (size_t first = 0; first < n && status == CLARKE_OK; first += CHUNK) {
    chunk c = {.g = r->g};
    size_t size = n - first < CHUNK ? n - first : CHUNK;

    status = pick_samples(&c.x, r, sample + first, size, err);
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
    *open = count_open(r->g, r->piece, r->samples);
  free(mark);
  free(sample);
  return status;
}

static clarke_status
filter_batch(clarke_replay *r, size_t threads, size_t *open, clarke_error *err)
{
  bool *coarse = calloc(r->samples + 1, sizeof *coarse);
  clarke_status status = coarse != NULL ? filter_all(r, threads, open, coarse, err)
                                        : clarke_no_memory(err);

  if (status == CLARKE_OK && *open > 0 && !clarke_graph_couples(r->g))
    status = filter_again(r, open, coarse, err);
  free(coarse);
  return status;
}

clarke_status
clarke_replay_run(clarke_replay *r, const clarke_graph *g, const clarke_tensor *x, bool exact,
                  size_t threads, clarke_error *err)
{
  size_t open = 0, entries = 0;
  clarke_status status;

  CLARKE_ASSERT(x->rank > 0 && x->dims[0] > 0);
  CLARKE_VERIFY_CHECK(clarke_graph_is_valid(g));
  clarke_replay_clear(r);
  r->g = g;
  r->x = x;
  r->samples = x->dims[0];
  r->piece = calloc(g->n_steps + 1, sizeof *r->piece);
  r->ties = calloc(g->n_steps + 1, sizeof *r->ties);
  if (r->piece == NULL || r->ties == NULL)
    return clarke_no_memory(err);
  status = check_batch(x, err);
  if (status == CLARKE_OK)
    status = leave_all_open(r, &entries, err);
  open = entries;
  if (status == CLARKE_OK && !exact)
    status = filter_batch(r, threads, &open, err);
  r->filtered = entries - open;
  if (status == CLARKE_OK && open > 0)
    status = run_open(r, !exact, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_replay_is_valid(r));
  return status;
}

clarke_status
clarke_replay_all(clarke_forward *f, clarke_replay *r, bool loss, long precision,
                  clarke_error *err)
{
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  size_t *sample = malloc((r->samples + 1) * sizeof *sample);
  clarke_matrix input;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&input);
  if (needed == NULL || sample == NULL)
    status = clarke_no_memory(err);
  for (size_t j = 0; status == CLARKE_OK && j < r->samples; j++)
    sample[j] = j;
  if (status == CLARKE_OK && r->constants.constant == NULL)
    status = clarke_constants_init(&r->constants, r->g, err);
  if (status == CLARKE_OK)
    status = set_input(&input, r->x, sample, r->samples, err);
  if (status == CLARKE_OK) {
    clarke_graph_needed(r->g, loss, needed);
    status = clarke_forward_run(f, &r->constants, &input, needed, precision, err);
  }
  clarke_matrix_clear(&input);
  free(needed);
  free(sample);
  return status;
}
