/* The text of a proof: how names are written, how it is sealed and saved. */
#include <stdio.h> /* before gmp.h, for mpq_out_str */

#include "proof/text.h"

#include <openssl/evp.h>
#include <string.h>

void
clarke_proof_put_name(FILE *out, const char *name)
{
  for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
    if ((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
        strchr("._/:-", *c) != NULL)
      fputc(*c, out);
    else
      fprintf(out, "%%%02X", *c);
}

void
clarke_proof_put_file(FILE *out, const char *word, const char *name, const char *sha256)
{
  fprintf(out, "%s ", word);
  clarke_proof_put_name(out, name);
  fprintf(out, " %s\n", sha256);
}

void
clarke_proof_put_row(FILE *out, const char *word, mpq_t *const q, size_t n)
{
  fputs(word, out);
  for (size_t k = 0; k < n; k++) {
    fputc(' ', out);
    mpq_out_str(out, 10, q[k]);
  }
  fputc('\n', out);
}

void
clarke_proof_put_proxy(FILE *out, const clarke_op *op, size_t kink, const clarke_profile *profile)
{
  const clarke_proxy *p = clarke_profile_find(profile, op, kink);

  fprintf(out, "proxy %s %zu ", op->name, kink);
  if (p == NULL || p->kind == CLARKE_PROXY_INJECTED) /* what takes the gradient's place is no slope that could be stated */
    fputs("unknown", out);
  else if (p->kind == CLARKE_PROXY_VALUE)
    mpq_out_str(out, 10, p->value);
  else
    fputs(p->kind == CLARKE_PROXY_LEFT ? "left" : "right", out);
  fputc('\n', out);
}

static clarke_status
digest_line(char line[80], const char *text, size_t size, clarke_error *err)
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;

  if (EVP_Digest(text, size, digest, &n, EVP_sha256(), NULL) != 1 || n != 32)
    return clarke_fail(err, CLARKE_EINTERNAL, "SHA-256 failed");
  strcpy(line, "end ");
  for (unsigned i = 0; i < n; i++)
    sprintf(line + 4 + 2 * i, "%02x", digest[i]);
  strcat(line, "\n");
  return CLARKE_OK;
}

clarke_status
clarke_proof_save(clarke_text *t, clarke_status status, const char *path, clarke_error *err)
{
  char last[80];
  clarke_output o;

  status = clarke_text_close(t, status, err);
  if (status == CLARKE_OK)
    status = digest_line(last, t->text, t->size, err);
  if (status == CLARKE_OK)
    status = clarke_output_open(&o, path, err);
  if (status == CLARKE_OK) {
    fwrite(t->text, 1, t->size, o.to);
    fputs(last, o.to);
    status = clarke_output_close(&o, status, path, err);
  }
  clarke_text_clear(t);
  return status;
}

void
clarke_proof_put_tie(FILE *out, const clarke_op *op, const clarke_profile *profile)
{
  const clarke_tie_rule *rule = clarke_profile_tie(profile, op);

  fprintf(out, "tie %s ", op->name);
  if (rule == NULL)
    fputs("unknown", out);
  else if (rule->tie != CLARKE_TIE_FIRST)
    fputs(rule->tie == CLARKE_TIE_LAST ? "last" : "stable", out);
  else if (mpq_sgn(rule->beta) == 0 || mpq_cmp_ui(rule->beta, 1, 1) == 0)
    fputs(mpq_sgn(rule->beta) == 0 ? "first" : "mean", out);
  else {
    fputs("hybrid ", out);
    mpq_out_str(out, 10, rule->beta);
  }
  fputc('\n', out);
}
