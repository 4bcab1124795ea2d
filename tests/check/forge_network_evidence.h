/* Evidence of every kind, right where it can be and forged where it cannot. */
#ifndef CLARKE_TESTS_CHECK_FORGE_NETWORK_EVIDENCE_H
#define CLARKE_TESTS_CHECK_FORGE_NETWORK_EVIDENCE_H

#include "forge_network_scene.h"

typedef enum { BY_AD, BY_COMPENSATION, BY_MIX, BY_HULL, BY_SIMPLICES, BY_BALANCE, BY_SEPARATOR, BY_BOUND, EVIDENCES } evidence_kind;

extern const char *const evidence_name[EVIDENCES];

/* From `evidence` on, without the last line; false when this kind cannot be made of the scene. */
typedef bool (*forge)(FILE *out, scene *s, clarke_verdict v, uint64_t *state);

/* Draws how well what follows is forged: half of it without slips where it can be right. */
void be_careful(uint64_t *state);

bool forge_ad(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_compensation(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_mix(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_hull(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_simplices(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_balance(FILE *out, scene *s, clarke_verdict v, uint64_t *state);
bool forge_separator(FILE *out, scene *s, clarke_verdict v, uint64_t *state);

/* Trees of `bound` are mended where the checker rejects them, a few times; say is told of each. */
void forge_bounds(scene *s, uint64_t *state, void (*say)(void *to, const char *proof, size_t size, size_t *line),
                  void *to);

/* Changes a line or two of the evidence. */
char *altered(const char *text, uint64_t *state);

#endif
