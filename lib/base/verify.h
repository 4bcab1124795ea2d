/* What headers promise of structures, checked. A broken promise is our own error, and no answer given after it is worth
 * anything: the program says where and aborts. Errors of users are values (base/status.h), and never come here.
 *
 * CLARKE_ASSERT is for what takes a step or two: it is always on, for a false verdict costs more than the time.
 * CLARKE_VERIFY_CHECK is for whole structures, when a function begins or ends with one: only builds with -Dverify=true
 * make it. Its conditions are the clarke_*_is_valid functions beside each structure. */
#ifndef CLARKE_BASE_VERIFY_H
#define CLARKE_BASE_VERIFY_H

/* Says on standard error that it is clarke's own error, and aborts. */
_Noreturn void clarke_assertion_failed(const char *condition, const char *file, int line);

#define CLARKE_ASSERT(condition) \
  ((condition) ? (void)0 : clarke_assertion_failed(#condition, __FILE__, __LINE__))

#ifdef CLARKE_VERIFY
#define CLARKE_VERIFY_CHECK(condition) CLARKE_ASSERT(condition)
#else
#define CLARKE_VERIFY_CHECK(condition) ((void)sizeof(condition))
#endif

#endif
