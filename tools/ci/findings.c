#include "findings.h"

#include "base/room.h"
#include "base/text.h"
#include "findings_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const clarke_rule_words *
clarke_rule_told(clarke_rule rule)
{
  static const clarke_rule_words words[] = {
      [CLARKE_RULE_NONE] = {"none", "none", "Nothing was found", "Nothing was found."},
      [CLARKE_RULE_NOT_IN_CLARKE] =
          {"not-in-clarke", "error", "AD's gradient is no derivative here",
           "It is proved that the gradient of automatic differentiation is no limit of true gradients at points nearby, and no "
           "mixture "
           "(convex combination) of such limits. The option --proof writes the proof, which clarke-check verifies."},
      [CLARKE_RULE_REFUTED] =
          {"refuted", "error", "What was recorded is not what the step computes",
           "Rounding does not explain the recorded number. The program that ran is another than the recorded one, or the "
           "record was changed: record the step again."},
      [CLARKE_RULE_UNDECIDED] =
          {"undecided", "warning", "It was not proved whether AD's gradient is a derivative here",
           "Neither yes nor no was proved. The report says where the search stopped; docs/undecided.md says what to do."},
      [CLARKE_RULE_NOT_KNOWN] =
          {"not-known", "warning", "It is not known whether what was recorded is right but for rounding",
           "The bound on rounding is too wide, or the record has too little. A record with a trace says more."},
      [CLARKE_RULE_IN_CLARKE] =
          {"in-clarke", "note", "AD's gradient is a mixture of derivatives here",
           "It is a convex combination of limits of gradients. It was not shown to be such a limit itself."},
      [CLARKE_RULE_TURNED] =
          {"turned", "warning", "Rounding took another side of a kink",
           "The recorded gradient is the one along the branches that ran. The exact step takes others at the kinks named."},
      [CLARKE_RULE_TOUCHED] =
          {"touched", "note", "Exact evaluation lands on a kink",
           "There the function has several slopes, and automatic differentiation takes one of them by its own rule."},
      [CLARKE_RULE_NOT_ASKED] = {"not-asked", "error", "The question could not be asked", "The message says why."},
  };

  return &words[rule];
}

clarke_finding *
clarke_findings_add(clarke_findings *list, clarke_finding finding, const char *format, ...)
{
  va_list args;

  if (!clarke_room(&list->finding, &list->room, list->n + 1, sizeof *list->finding)) {
    list->failed = true;
    return NULL;
  }
  va_start(args, format);
  finding.message = clarke_text_vprint(format, args);
  va_end(args);
  list->failed = list->failed || finding.message == NULL;
  list->finding[list->n] = finding;
  return &list->finding[list->n++];
}

clarke_status
clarke_findings_fail(clarke_findings *list, const char *why, int own, clarke_error *err)
{
  clarke_findings_add(list, (clarke_finding){.rule = CLARKE_RULE_NOT_ASKED, .question = "verdict", .count = 1, .status = own},
                      "%s", why);
  return list->failed ? clarke_no_memory(err) : CLARKE_OK;
}

void
clarke_findings_clear(clarke_findings *list)
{
  for (size_t i = 0; i < list->n; i++)
    free(list->finding[i].message);
  free(list->finding);
  *list = (clarke_findings){0};
}

/* --- names ------------------------------------------------------------------------------------ */

/* A field of the printed name: a bar within it would begin another. */
static void
put_field(FILE *to, const char *text)
{
  putc('|', to);
  for (const char *c = text != NULL ? text : ""; *c != '\0'; c++)
    if (*c == '|' || *c == '%')
      fprintf(to, "%%%02X", (unsigned char)*c);
    else
      putc(*c, to);
}

uint64_t
clarke_text_hash(const char *text)
{
  uint64_t hash = 0xcbf29ce484222325u;

  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* Loss, point and inputs, as the answer has them: a point may be long. */
static bool
put_asked(FILE *to, const json_t *answer)
{
  static const char *const keys[] = {"loss_kind", "at", "wrt", "step"};
  const json_t *gradient = json_object_get(answer, "gradient"); /* which has the step of an audit */
  bool put = true;

  putc('|', to);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const json_t *own = json_object_get(answer, keys[i]), *value = own != NULL ? own : json_object_get(gradient, keys[i]);
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;

    put = put && (value == NULL || text != NULL);
    if (text != NULL)
      fprintf(to, "%s=%016llx", keys[i], (unsigned long long)clarke_text_hash(text));
    free(text);
  }
  return put;
}

char *
clarke_finding_print(const clarke_findings *list, const clarke_finding *f)
{
  char *text = NULL, *uri = clarke_finding_uri(list, f);
  size_t size;
  FILE *to = uri != NULL ? open_memstream(&text, &size) : NULL;
  bool failed = to == NULL;

  if (to != NULL) {
    fputs(clarke_rule_told(f->rule)->name, to);
    put_field(to, list->command);
    put_field(to, f->question);
    fprintf(to, "|%s", uri); /* which has no bar */
    put_field(to, list->batch);
    put_field(to, f->subject != NULL ? f->subject : list->checkpoint);
    put_field(to, f->place);
    put_field(to, list->profile);
    failed = !put_asked(to, list->asked) || ferror(to) != 0;
    failed = fclose(to) != 0 || failed;
  }
  free(uri);
  if (!failed)
    return text;
  free(text);
  return NULL;
}

/* RFC 3986: what stands for itself in a path. A colon does not, for it could end a scheme. */
static bool
stands_for_itself(unsigned char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
         || (c != '\0' && strchr("-._~/!$&'()*+,;=@", c) != NULL);
}

static size_t
put_path(char *to, const char *path)
{
  size_t n = 0;

  for (; *path != '\0'; path++)
    n += (size_t)sprintf(to + n, stands_for_itself((unsigned char)*path) ? "%c" : "%%%02X", (unsigned char)*path);
  return n;
}

char *
clarke_finding_uri(const clarke_findings *list, const clarke_finding *f)
{
  static const char scheme[] = "file://";
  const char *path = list->path, *file = f->file != NULL ? f->file : "";
  const bool absolute = *path == '/', part = *file != '\0' && !clarke_ends_with(path, "/");
  char *uri;
  size_t n = 0;

  while (strncmp(path, "./", 2) == 0)
    path += 2;
  uri = malloc(sizeof scheme + 3 * (strlen(path) + strlen(file)) + 2);
  if (uri == NULL)
    return NULL;
  if (absolute)
    n = (size_t)sprintf(uri, "%s", scheme);
  n += put_path(uri + n, path);
  n += (size_t)sprintf(uri + n, "%s", part ? "/" : "");
  uri[n + put_path(uri + n, file)] = '\0';
  return uri;
}
