/* The page around an answer. */
#include "report.h"

#include "base/output.h"
#include "clarke.h"
#include "markup.h"
#include "page.h"

#include <stdlib.h>

static void
put_proof(FILE *to, const clarke_report_source *s)
{
  clarke_page_section(to, "The proof");
  if (s->proof == NULL) {
    fputs("<p>No proof was named here. The option <code>--proof FILE</code> of the command writes one, and <code>clarke-check "
          "FILE --data FOLDER</code> "
          "verifies it: a program that shares no code with the first.</p>\n",
          to);
  } else {
    fputs("<p>A separate program verifies it, which shares no code with the one that wrote it:</p>\n<pre>clarke-check ", to);
    clarke_page_text(to, s->proof);
    if (s->data != NULL) {
      fputs(" --data ", to);
      clarke_page_text(to, s->data);
    }
    fputs("</pre>\n<dl>\n", to);
    if (s->proof_sha256 != NULL && *s->proof_sha256 != '\0')
      clarke_page_fact(to, "SHA-256 of the proof", s->proof_sha256);
    fputs("</dl>\n", to);
  }
  clarke_page_section_end(to);
}

static void
put_origin(FILE *to, const clarke_report_source *s)
{
  clarke_markup(to, "<footer>\n<p>This page was written by clarke %s", clarke_version());
  if (s->file != NULL) {
    fputs(" from ", to);
    clarke_page_text(to, s->file);
  }
  if (s->sha256 != NULL)
    clarke_markup(to, " (SHA-256 %s)", s->sha256);
  fputs(". It says what that answer says, and proves nothing by itself.</p>\n</footer>\n", to);
}

static void
put_page(FILE *to, const json_t *answer, const clarke_report_source *source)
{
  if (json_object_get(answer, "nodes") != NULL || json_object_get(answer, "sets") != NULL)
    clarke_report_certify(to, answer);
  else if (json_is_object(json_object_get(answer, "outside")))
    clarke_report_outside(to, answer);
  else if (json_object_get(answer, "checkpoints") != NULL)
    clarke_report_checkpoints(to, answer);
  else if (json_object_get(answer, "layers") != NULL && json_object_get(answer, "theorems") != NULL)
    clarke_report_audit(to, answer);
  else if (json_object_get(answer, "bouligand") != NULL && json_object_get(answer, "verdict") != NULL)
    clarke_report_derive(to, answer);
  else
    clarke_report_any(to, answer);
  if (!json_is_object(json_object_get(answer, "outside"))) /* of that there is none */
    put_proof(to, source);
  put_origin(to, source);
  clarke_page_end(to);
}

static clarke_status
write_text(const char *path, const char *page, size_t size, clarke_error *err)
{
  clarke_output output;
  clarke_status status;

  if (path == NULL) {
    fwrite(page, 1, size, stdout); /* which remembers its errors: process.h */
    return CLARKE_OK;
  }
  status = clarke_output_open(&output, path, err);
  if (status != CLARKE_OK)
    return status;
  fwrite(page, 1, size, output.to);
  return clarke_output_close(&output, CLARKE_OK, path, err);
}

clarke_status
clarke_report_write(const char *path, const json_t *answer, const clarke_report_source *source, clarke_error *err)
{
  char *page = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&page, &size); /* which tells how full it is: page.h */
  clarke_status status = CLARKE_OK;
  bool failed = to == NULL;

  if (to != NULL) {
    put_page(to, answer, source);
    failed = ferror(to) != 0;
    failed = fclose(to) != 0 || failed;
  }
  status = failed ? clarke_no_memory(err) : write_text(path, page, size, err);
  free(page);
  return status;
}
