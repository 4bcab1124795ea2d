/* What a check may take (docs/formats.md): each limit has a name and an option. Past one a check is refused; none makes it say
 * another thing of a proof. */
#include "check/base/limit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The standard limits are for so much input; each byte more may claim as much more as stands under growth. */
#define FIRST_BYTES ((size_t)1 << 20)

static const struct {
  const char *name;
  size_t standard, growth;
  size_t most; /* what the code can do, whatever the memory */
} limits[N_LIMITS] = {
    [LIMIT_FILE] = {"file", (size_t)1 << 33, 0, (size_t)1 << 40},
    [LIMIT_MEMORY] = {"memory", (size_t)640 << 20, 1024, (size_t)1 << 46},
    [LIMIT_NODES] = {"nodes", 2048, 0, 16384},
    [LIMIT_ENTRIES] = {"entries", (size_t)1 << 24, 1024, (size_t)1 << 36},
    [LIMIT_PRODUCTS] = {"products", (size_t)1 << 28, (size_t)1 << 13, (size_t)1 << 50},
    [LIMIT_TEXT] = {"text", (size_t)1 << 24, 0, (size_t)1 << 30},
    [LIMIT_INSTRUCTIONS] = {"instructions", (size_t)1 << 21, 0, (size_t)1 << 28},
    [LIMIT_VECTORS] = {"vectors", (size_t)1 << 24, 0, (size_t)1 << 36},
    [LIMIT_WORDS] = {"words", (size_t)1 << 24, 0, (size_t)1 << 40},
    [LIMIT_BITS] = {"bits", (size_t)1 << 17, 0, (size_t)1 << 30},
    [LIMIT_TIES] = {"ties", 4096, 0, (size_t)1 << 20},
    [LIMIT_GRADIENTS] = {"gradients", (size_t)1 << 25, 0, (size_t)1 << 36},
    [LIMIT_BRANCHES] = {"branches", (size_t)1 << 28, 0, (size_t)1 << 40},
    [LIMIT_UNRECORDED] = {"unrecorded", (size_t)1 << 20, 8, (size_t)1 << 40},
    [LIMIT_LINE] = {"line", (size_t)1 << 20, 1, (size_t)1 << 36},
};
/* What the command line chose (0: nothing), and what was read so far. */
static struct {
  size_t chosen[N_LIMITS], input;
  bool bounded;
} asked;

size_t
limit_of(quantity which)
{
  size_t more = asked.input > FIRST_BYTES ? asked.input - FIRST_BYTES : 0, grown = limits[which].most;
  if (asked.chosen[which] != 0)
    return asked.chosen[which];
  if (__builtin_mul_overflow(limits[which].growth, more, &grown)
      || __builtin_add_overflow(limits[which].standard, grown, &grown))
    return limits[which].most;
  return grown < limits[which].most ? grown : limits[which].most;
}

_Noreturn void
leave_past(quantity which, const char *format, ...)
{
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  leave(REFUSED, "%s; the limit is %zu (--limit %s=N raises it)", what, limit_of(which), limits[which].name);
}

/* What is written to counts, and the stacks of threads besides. */
static void
bound(void)
{
  struct rlimit now;
  if (getrlimit(RLIMIT_DATA, &now) != 0)
    return;
  rlim_t most = limit_of(LIMIT_MEMORY) + session_threads * STACK_BYTES;
  now.rlim_cur = now.rlim_max == RLIM_INFINITY || most < now.rlim_max ? most : now.rlim_max;
  expect(setrlimit(RLIMIT_DATA, &now) == 0, "the memory cannot be limited");
}

void
limit_memory(void)
{
  asked.bounded = true;
  bound();
}

void
limit_input(size_t n)
{
  asked.input += n;
  if (asked.bounded)
    bound();
}

bool
limit_set(const char *setting)
{
  const char *equals = strchr(setting, '=');
  size_t n = equals != NULL ? (size_t)(equals - setting) : 0, i = 0;
  while (i < N_LIMITS && (n != strlen(limits[i].name) || memcmp(setting, limits[i].name, n) != 0))
    i++;
  if (i == N_LIMITS || equals[1] < '0' || equals[1] > '9')
    return false;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(equals + 1, &end, 10);
  if (errno != 0 || *end != '\0' || value == 0 || value > limits[i].most)
    return false;
  asked.chosen[i] = (size_t)value;
  return true;
}

const char *
limit_name(size_t i)
{
  return i < N_LIMITS ? limits[i].name : NULL;
}

void
limit_require_stack(void)
{
  struct rlimit stack;
  refuse_if(getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < LEAST_STACK,
            "the stack is limited to %ju KiB; %zu KiB are needed (ulimit -s)", (uintmax_t)stack.rlim_cur >> 10,
            LEAST_STACK >> 10);
}
