/* Rows behind what is said of all of them (patterns_list.h). */
#include "patterns_list.h"

#include "base/stop.h"
#include "base/text.h"

clarke_status
clarke_patterns_list_begin(clarke_patterns_list *l, clarke_error *err)
{
  l->to = l->as_found || l->count ? stdout : tmpfile();
  if (l->to == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "no temporary file can be had for the rows; --as-found needs none");
  if (l->json && l->as_found && !l->count)
    printf("{\"%s\": [", l->key);
  return CLARKE_OK;
}

void
clarke_patterns_list_clear(clarke_patterns_list *l)
{
  if (l->to != NULL && l->to != stdout)
    fclose(l->to);
  l->to = NULL;
}

/* Before anything is said of rows: is each of them in the file? */
static clarke_status
check_kept(const clarke_patterns_list *l, clarke_error *err)
{
  if (l->to == stdout || (fflush(l->to) == 0 && ferror(l->to) == 0))
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "the rows do not fit into a temporary file; --as-found needs none");
}

/* From the file without a name to standard output. */
static clarke_status
put_kept(clarke_patterns_list *l, clarke_error *err)
{
  char part[BUFSIZ];
  bool failed;

  if (l->to == stdout)
    return CLARKE_OK;
  failed = fseek(l->to, 0, SEEK_SET) != 0;
  for (size_t n; !failed && (n = fread(part, 1, sizeof part, l->to)) > 0;)
    fwrite(part, 1, n, stdout);
  failed = failed || ferror(l->to) != 0;
  return failed ? clarke_fail(err, CLARKE_EINPUT, "the temporary file of the rows cannot be read; --as-found needs none") : CLARKE_OK;
}

clarke_status
clarke_patterns_list_tell(clarke_patterns_list *l, clarke_summary *s, clarke_status status, clarke_error *err)
{
  status = clarke_summary_end(s, status, err);
  if (status == CLARKE_OK)
    status = check_kept(l, err);
  if (status == CLARKE_OK && !l->count) {
    if (l->as_found)
      putchar('\n');
    clarke_summary_print(s);
    status = put_kept(l, err);
  }
  clarke_summary_clear(s);
  return status;
}

/* --- JSON ------------------------------------------------------------------------------------- */

clarke_status
clarke_patterns_list_keys(const clarke_patterns_list *l, bool any, clarke_error *err)
{
  clarke_status status = check_kept(l, err);

  if (status == CLARKE_OK)
    fputs(!l->as_found || l->count ? "{" : any ? "\n ],\n " : "],\n ", stdout);
  return status;
}

/* The reason is our own text and a number of --timeout or --memory. */
clarke_status
clarke_patterns_list_end(clarke_patterns_list *l, bool any, bool stopped, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (stopped)
    printf(", \"stopped\": \"%s\"", clarke_work_stopped());
  if (!l->as_found && !l->count) {
    printf(",\n \"%s\": [", l->key);
    status = put_kept(l, err);
    fputs(any ? "\n ]" : "]", stdout);
  }
  fputs("}\n", stdout);
  return status;
}

/* --- the three lines -------------------------------------------------------------------------- */

void
clarke_patterns_put_file(FILE *to, const char *path, const char *sha256)
{
  fputs(clarke_base_name(path), to);
  fputs("; ", to);
  clarke_put_hash(to, sha256);
  fputs(".", to);
}

void
clarke_patterns_put_begun(FILE *to, bool complete)
{
  fputs(complete ? "" : "Not decided (undecided): at least ", to);
}

void
clarke_patterns_put_next(const clarke_patterns_list *l, FILE *to, const char *why, const char *row, const char *proof)
{
  if (why != NULL) {
    fputs("More may be: ", to);
    fputs(why, to);
    fputs(". ", to);
  } else if (proof != NULL)
    clarke_put_proof(to, proof);
  fprintf(to, "Each row %s is %s.", l->as_found ? "above" : "below", row);
  if (why == NULL && proof == NULL)
    fputs(" --proof FILE writes a proof for clarke-check, --count prints the number alone.", to);
}
