/* Two runs of several steps: the first step whose records differ. */
#include "audit_steps.h"
#include "certify_report.h"

#include <string.h>

/* Have both steps such a file, of other bytes? */
static bool
differs(const clarke_audit_step *one, const clarke_audit_step *other, const char *what)
{
  const json_t *a = json_object_get(one->files, what), *b = json_object_get(other->files, what);

  return a != NULL && b != NULL && !json_equal(a, b);
}

static bool
any_differs(const clarke_audit_step *one, const clarke_audit_step *other)
{
  static const char *const files[] = {"batch", "parameters", "gradients", "trace", "profile"};
  bool any = false;

  for (size_t k = 0; k < sizeof files / sizeof *files; k++)
    any = any || differs(one, other, files[k]);
  return any;
}

/* Where earlier steps were the same, and this one begins with other numbers. */
static clarke_status
refuse_begun(const clarke_steps_apart *s, const clarke_audit_step *one, const clarke_audit_step *other, clarke_error *err)
{
  const char *what = differs(one, other, "parameters") ? "parameters" : differs(one, other, "batch") ? "the minibatch" : NULL;

  if (s->same == 0 || what == NULL)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "the runs part before step %zu: %s differ%s there, and the %zu recorded step%s before %s the same numbers in both: "
                     "record the steps between, or compare how they were made", one->step, what, *what == 't' ? "s" : "", s->same, s->same == 1 ? "" : "s",
                     s->same == 1 ? "has" : "have");
}

clarke_status
clarke_steps_apart_next(clarke_steps_apart *s, clarke_error *err)
{
  const clarke_audit_step *other;

  s->found = false;
  for (; s->at < s->one.n; s->at++) {
    const clarke_audit_step *one = &s->one.step[s->at];

    other = clarke_audit_step_find(&s->other, one->step);
    if (other == NULL)
      continue;
    s->common++;
    if (any_differs(one, other)) {
      s->found = true;
      s->at++;
      s->step = one->step;
      s->folder[0] = one->folder;
      s->folder[1] = other->folder;
      return refuse_begun(s, one, other, err);
    }
    if (s->common == 1) { /* what is said of where nothing differs */
      s->step = one->step;
      s->folder[0] = one->folder;
      s->folder[1] = other->folder;
    }
    s->same++;
  }
  return s->common > 0 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "the runs have no step of one number");
}

bool
clarke_steps_apart_several(const clarke_steps_apart *s)
{
  return s->one.n > 1 || s->other.n > 1;
}

clarke_status
clarke_steps_apart_begin(clarke_steps_apart *s, const char *one, const char *other, clarke_error *err)
{
  clarke_status status = clarke_audit_step_list_read(&s->one, one, err);

  return status == CLARKE_OK ? clarke_audit_step_list_read(&s->other, other, err) : status;
}

void
clarke_steps_apart_clear(clarke_steps_apart *s)
{
  clarke_audit_step_list_clear(&s->one);
  clarke_audit_step_list_clear(&s->other);
  memset(s, 0, sizeof *s);
}
