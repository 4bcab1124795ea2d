#include "junit.h"

#include "base/output.h"
#include "command.h"
#include "markup.h"

static bool
fails(const clarke_finding *f)
{
  return f->status == EXIT_FAILS || f->status == EXIT_UNDECIDED;
}

static bool
is_error(const clarke_finding *f)
{
  return f->status == EXIT_NOT_ASKED;
}

static size_t
count(const clarke_findings *list, bool (*which)(const clarke_finding *))
{
  size_t n = 0;

  for (size_t i = 0; i < list->n; i++)
    n += which(&list->finding[i]);
  return n;
}

/* Where a result is read, a test case is known by its class and name: file (and checkpoint), question and place. */
static void
print_case(FILE *to, const clarke_findings *list, const clarke_finding *f)
{
  const char *element = is_error(f) ? "error" : "failure", *subject = f->subject != NULL         ? f->subject
                                                                      : list->checkpoint != NULL ? list->checkpoint
                                                                                                 : list->path;

  clarke_markup(to, "  <testcase classname=\"clarke.%s\" name=\"%s: %s%s%s\" time=\"0\"", list->command, subject, f->question,
                f->place != NULL || f->file != NULL ? " " : "",
                f->place != NULL  ? f->place
                : f->file != NULL ? f->file
                                  : "");
  if (fails(f) || is_error(f))
    clarke_markup(to, ">\n    <%s type=\"%s\" message=\"%s\">%s\n%s</%s>\n  </testcase>\n", element,
                  clarke_rule_told(f->rule)->name, f->message, f->message, clarke_rule_told(f->rule)->help, element);
  else if (f->rule != CLARKE_RULE_NONE || f->replaced)
    clarke_markup(to, ">\n    <system-out>%s%s</system-out>\n  </testcase>\n", f->known ? "known by the baseline: " : "",
                  f->message);
  else
    fputs("/>\n", to);
}

clarke_status
clarke_junit_write(const char *path, const clarke_findings *list, clarke_error *err)
{
  clarke_output output;
  clarke_status status = clarke_output_open(&output, path, err);

  if (status != CLARKE_OK)
    return status;
  clarke_markup(
      output.to,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite name=\"clarke %s\" tests=\"%zu\" failures=\"%zu\" "
      "errors=\"%zu\" skipped=\"0\" time=\"0\">\n",
      list->command, list->n, count(list, fails), count(list, is_error));
  for (size_t i = 0; i < list->n; i++)
    print_case(output.to, list, &list->finding[i]);
  fputs(" </testsuite>\n</testsuites>\n", output.to);
  return clarke_output_close(&output, CLARKE_OK, path, err);
}
