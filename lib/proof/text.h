/* What the writers of proofs share (docs/proof-format.md): names, proxies, the last line, the file. */
#ifndef CLARKE_PROOF_TEXT_H
#define CLARKE_PROOF_TEXT_H

#include "base/output.h"
#include "op/profile.h"

#include <stdio.h>

/* A proof goes to memory first: its last line is the digest of the rest. Unless status is an error already, closes the
 * text, adds that line and writes all to path. Clears the text. */
clarke_status clarke_proof_save(clarke_text *t, clarke_status status, const char *path, clarke_error *err);

/* Bytes outside A-Z a-z 0-9 . _ / : - as %XX. */
void clarke_proof_put_name(FILE *out, const char *name);
/* `WORD NAME SHA256`, of a file; `WORD Q Q ...`, n rationals. */
void clarke_proof_put_file(FILE *out, const char *word, const char *name, const char *sha256);
void clarke_proof_put_row(FILE *out, const char *word, mpq_t *const q, size_t n);
/* `proxy OPERATOR KINK VALUE`; `unknown` where the profile has none. */
void clarke_proof_put_proxy(FILE *out, const clarke_op *op, size_t kink,
                            const clarke_profile *profile);
/* `tie OPERATOR RULE`; `unknown` likewise. */
void clarke_proof_put_tie(FILE *out, const clarke_op *op, const clarke_profile *profile);

#endif
