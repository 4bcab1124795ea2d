#include "base/stop.h"
#include "base/limit.h"

#include <stdatomic.h>
#include <stdint.h>

static _Atomic(const char *) reason, later; /* why to stop; why, when the checks left are made */
static atomic_size_t checks_left;
static _Atomic(const char *) stage;
static atomic_size_t stage_parts, stage_done;
static _Thread_local clarke_work_count counted;

#define EACH_BYTE 8
#define EACH_CHECK 128 /* operations between two checks, at least */

void
clarke_work_stop(const char *why)
{
  const char *none = NULL;

  atomic_compare_exchange_strong(&reason, &none, why);
}

const char *
clarke_work_stopped(void)
{
  const char *why = atomic_load_explicit(&reason, memory_order_relaxed);

  return why == NULL && clarke_work_beyond(counted) ? "the limit of work was reached (--limit work=N raises it)" : why;
}

void
clarke_work_stop_after(size_t checks, const char *why)
{
  atomic_store(&checks_left, checks);
  atomic_store(&later, checks > 0 ? why : NULL);
}

clarke_status
clarke_work_check(clarke_error *err)
{
  const char *why = atomic_load_explicit(&later, memory_order_relaxed);

  if (why != NULL && atomic_fetch_sub(&checks_left, 1) == 1)
    clarke_work_stop(why);
  clarke_work_spend(EACH_CHECK);
  why = clarke_work_stopped();
  return why == NULL ? CLARKE_OK : clarke_fail(err, CLARKE_ESTOPPED, "%s", why);
}

void
clarke_work_spend(size_t operations)
{
  if (__builtin_add_overflow(counted.spent, operations, &counted.spent))
    counted.spent = SIZE_MAX;
}

void
clarke_work_keep(size_t bytes)
{
  clarke_work_spend(EACH_BYTE * bytes);
}

clarke_work_count
clarke_work_counted(void)
{
  return counted;
}

void
clarke_work_count_from(clarke_work_count count)
{
  counted = count;
}

bool
clarke_work_beyond(clarke_work_count count)
{
  return count.limited && count.spent > clarke_limit_of(CLARKE_LIMIT_WORK);
}

void
clarke_work_begin(const char *what, size_t parts)
{
  atomic_store(&stage_done, 0);
  atomic_store(&stage_parts, parts);
  atomic_store(&stage, what);
}

void
clarke_work_done(void)
{
  atomic_fetch_add_explicit(&stage_done, 1, memory_order_relaxed);
}

const char *
clarke_work_at(size_t *done, size_t *parts)
{
  *done = atomic_load_explicit(&stage_done, memory_order_relaxed);
  *parts = atomic_load(&stage_parts);
  return atomic_load(&stage);
}
