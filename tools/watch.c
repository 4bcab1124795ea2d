#include "watch.h"

#include "base/limit.h"
#include "base/stop.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK 0.05       /* seconds between two looks */
#define QUIET 1.0       /* seconds before the bar shows */
#define EVERY 10.0      /* seconds between two lines at least, where there is no terminal; */
#define RARER 0.1       /* of the time until then at least */
#define BAR 30
#define LINE 78

static struct {
  clarke_watch_limits limits;
  bool terminal, hidden, shown, over, running;
  double begun, every, due; /* every: below 0, no lines */
  const char *stage;        /* as it was looked at last: */
  size_t done;
  double stage_begun;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t end;
  char why[96];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- options ---------------------------------------------------------------------------------- */

static double
read_seconds(const char *text, const struct argp_state *state)
{
  char *end;
  const double seconds = strtod(text, &end);

  if (*text < '0' || *text > '9' || *end != '\0' || !(seconds <= 1e9))
    argp_error(state, "--timeout: '%s' is no number of seconds", text);
  return seconds;
}

static size_t
read_size(const char *text, const struct argp_state *state)
{
  static const char units[] = "KMGT";
  char *end;
  const double number = strtod(text, &end);
  const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
  const double size = ldexp(number, unit != NULL ? 10 * (int)(unit - units + 1) : 0);

  if (*text < '0' || *text > '9' || end[unit != NULL] != '\0' || !(size >= 1 && size <= 0x1p60))
    argp_error(state, "--memory: '%s' is no number of bytes, such as 500M or 2G", text);
  return (size_t)size;
}

bool
clarke_watch_take(int key, const char *arg, const struct argp_state *state, clarke_watch_limits *to)
{
  if (key == CLARKE_OPTION_TIMEOUT) {
    to->seconds = read_seconds(arg, state);
    to->timeout = arg;
  } else if (key == CLARKE_OPTION_MEMORY) {
    to->bytes = read_size(arg, state);
    to->memory = arg;
  }
  return key == CLARKE_OPTION_TIMEOUT || key == CLARKE_OPTION_MEMORY;
}

/* --- limits ----------------------------------------------------------------------------------- */

static double
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes of the process that are in memory, as Linux tells; 0 where nobody does. */
static size_t
memory_used(void)
{
  size_t all, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");

  if (f == NULL)
    return 0;
  if (fscanf(f, "%zu %zu", &all, &resident) != 2)
    resident = 0;
  fclose(f);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void
stop(const char *what, const char *option, const char *given)
{
  if (clarke_work_stopped() != NULL)
    return;
  snprintf(watch.why, sizeof watch.why, "%s (%s %.40s)", what, option, given);
  clarke_work_stop(watch.why);
}

static void
look(void)
{
  const clarke_watch_limits *l = &watch.limits;

  if (l->timeout != NULL && now() - watch.begun >= l->seconds)
    stop("the time is over", "--timeout", l->timeout);
  if (memory_used() > (l->memory != NULL ? l->bytes : clarke_limit_of(CLARKE_LIMIT_MEMORY)))
    stop("the memory is used up", "--memory", l->memory != NULL ? l->memory : "SIZE allows more");
}

/* --- the bar ---------------------------------------------------------------------------------- */

/* Past standard error's own stream, which lets no carriage return through. */
static void
write_line(const char *line, size_t n)
{
  ssize_t ignored = write(STDERR_FILENO, line, n);

  (void)ignored;
}

static void
clear_bar(void)
{
  char line[LINE + 2];

  if (!watch.shown)
    return;
  memset(line, ' ', sizeof line);
  line[0] = line[LINE + 1] = '\r';
  write_line(line, sizeof line);
  watch.shown = false;
}

/* How much of the parts is done. Its length, as of snprintf. */
static int
put_bar(char line[LINE + 2], const char *stage, size_t done, size_t parts)
{
  const size_t filled = parts > 0 ? (done < parts ? done : parts) * BAR / parts : 0;
  char bar[BAR + 1];

  memset(bar, '.', BAR);
  memset(bar, '#', filled);
  bar[BAR] = '\0';
  return snprintf(line, LINE + 2, "\r[%s] %3zu%%  %s, %.0f s", bar, filled * 100 / BAR, stage != NULL ? stage : "reading",
                  now() - watch.begun);
}

/* Shows the stage: a bar, or, where nobody knows its parts, how many are done. */
static void
show_bar(void)
{
  char line[LINE + 2];
  size_t done, parts;
  const char *stage = clarke_work_at(&done, &parts);
  int n;

  if (stage != NULL && parts == 0 && done > 0)
    n = snprintf(line, sizeof line, "\r%zu %s, %.0f s", done, stage, now() - watch.begun);
  else
    n = put_bar(line, stage, done, parts);
  for (; n < LINE; n++)
    line[n] = ' ';
  write_line(line, LINE);
  watch.shown = true;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* When did the stage at work begin? */
static void
follow_stage(double time)
{
  size_t done, parts;
  const char *stage = clarke_work_at(&done, &parts);

  if (stage != watch.stage || done < watch.done)
    watch.stage_begun = time;
  watch.stage = stage;
  watch.done = done;
}

/* "30 s", "12 min", "3.5 h": for people. */
static void
put_time(char text[32], double seconds)
{
  if (seconds < 100)
    snprintf(text, 32, "%.0f s", seconds);
  else if (seconds < 6000)
    snprintf(text, 32, "%.0f min", seconds / 60);
  else
    snprintf(text, 32, "%.1f h", seconds / 3600);
}

size_t
clarke_watch_line(char line[CLARKE_WATCH_ROOM], const clarke_watch_at *at)
{
  char since[32], left[32];
  const bool counted = at->stage != NULL && at->parts > 0 && at->done <= at->parts;
  int n;

  put_time(since, at->since);
  n = snprintf(line, CLARKE_WATCH_ROOM, CLARKE_AT_WORK "%s: %.80s", since, at->stage != NULL ? at->stage : "reading");
  if (counted)
    n += snprintf(line + n, CLARKE_WATCH_ROOM - (size_t)n, ", %zu of %zu (%.0f%%)", at->done, at->parts,
                  floor(100 * ((double)at->done / (double)at->parts)));
  else if (at->stage != NULL && at->done > 0)
    n += snprintf(line + n, CLARKE_WATCH_ROOM - (size_t)n, ", %zu", at->done);
  if (counted && at->done > 0 && at->done < at->parts) {
    put_time(left, at->in_stage * ((double)(at->parts - at->done) / (double)at->done));
    n += snprintf(line + n, CLARKE_WATCH_ROOM - (size_t)n, ", about %s more", left);
  }
  line[n++] = '\n';
  line[n] = '\0';
  return (size_t)n;
}

static void
show_line(double time)
{
  clarke_watch_at at = {.since = time - watch.begun, .in_stage = time - watch.stage_begun};
  char line[CLARKE_WATCH_ROOM];

  at.stage = clarke_work_at(&at.done, &at.parts);
  write_line(line, clarke_watch_line(line, &at));
}

/* The longer it takes, the rarer. */
static void
show_due_line(void)
{
  const double time = now(), since = time - watch.begun;

  follow_stage(time);
  if (watch.terminal || watch.hidden || watch.limits.quiet || watch.every < 0 || since < watch.due)
    return;
  show_line(time);
  watch.due = since + (watch.every > 0 && RARER * since > watch.every ? RARER * since : watch.every);
}

/* --- at work ---------------------------------------------------------------------------------- */

static void *
keep_watch(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&watch.lock);
  while (!watch.over) {
    struct timespec t;

    look();
    if (watch.terminal && !watch.hidden && now() - watch.begun >= QUIET)
      show_bar();
    show_due_line();
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)(TICK * 1e9);
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&watch.end, &watch.lock, &t);
  }
  clear_bar();
  show_due_line();
  pthread_mutex_unlock(&watch.lock);
  return NULL;
}

static void
interrupted(int signal)
{
  (void)signal;
  clarke_work_stop("interrupted");
}

static void
catch_signals(void)
{
  static const int caught[] = {SIGINT, SIGTERM};
  struct sigaction action = {.sa_handler = interrupted, .sa_flags = (int)SA_RESETHAND | SA_RESTART}, old;

  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
    if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(caught[i], &action, NULL);
}

/* CLARKE_PROGRESS: a number of seconds, or "off". */
static double
seconds_between(void)
{
  const char *text = getenv("CLARKE_PROGRESS");
  char *end;
  double seconds;

  if (text == NULL || *text == '\0')
    return EVERY;
  if (strcmp(text, "off") == 0)
    return -1;
  seconds = strtod(text, &end);
  return *end == '\0' && *text >= '0' && *text <= '9' && seconds <= 1e9 ? seconds : EVERY;
}

static void
obey_environment(void)
{
  const char *after = getenv("CLARKE_STOP_AFTER");

  if (after != NULL)
    clarke_work_stop_after(strtoul(after, NULL, 10), "interrupted");
  watch.every = seconds_between();
}

void
clarke_watch_begin(const clarke_watch_limits *limits)
{
  watch.limits = *limits;
  watch.terminal = isatty(STDERR_FILENO) == 1;
  watch.begun = now();
  watch.over = false;
  clarke_work_count_from((clarke_work_count){.limited = true});
  catch_signals();
  obey_environment();
  watch.due = watch.every;
  watch.stage = NULL;
  watch.done = 0;
  watch.stage_begun = watch.begun;
  look(); /* what is over already */
  pthread_cond_init(&watch.end, NULL);
  watch.running = pthread_create(&watch.thread, NULL, keep_watch, NULL) == 0;
  if (!watch.running && (limits->timeout != NULL || limits->memory != NULL))
    clarke_work_stop("no thread could be begun that watches --timeout and --memory");
}

void
clarke_watch_hide(bool hide)
{
  pthread_mutex_lock(&watch.lock);
  if (hide && watch.running)
    show_due_line();
  watch.hidden = hide;
  if (hide)
    clear_bar();
  pthread_mutex_unlock(&watch.lock);
}

void
clarke_watch_end(void)
{
  if (!watch.running)
    return;
  pthread_mutex_lock(&watch.lock);
  watch.over = true;
  pthread_cond_signal(&watch.end);
  pthread_mutex_unlock(&watch.lock);
  pthread_join(watch.thread, NULL);
  watch.running = false;
}
