/* One statement about one network: its files, what the library and the oracle say of it, and the checker's word on
 * proofs. */
#ifndef CLARKE_TESTS_CHECK_FORGE_NETWORK_SCENE_H
#define CLARKE_TESTS_CHECK_FORGE_NETWORK_SCENE_H

#include "forge_network_grow.h"

#include "audit/audit.h"

enum { MOST_TOUCHED = 8, MOST_OPTIONS = 26 };

/* A touched kink or window, as proofs number them. */
typedef struct {
  size_t instruction, kink;
  size_t options;              /* of a window; of a kink 0 */
  size_t entry[MOST_OPTIONS];  /* its first entry */
} site;

typedef struct {
  network *net;
  bool params; /* the weights stand in a file of their own, beside a model that has others */
  clarke_model model;
  clarke_graph graph;
  clarke_profile profile;
  clarke_replay replay;
  clarke_question question;
  size_t mark; /* of series */
  const series **y; /* as AD has it */
  size_t n;
  site site[MOST_TOUCHED];
  mpq_t *ad;
  bool rounded;
  gradients found;
  answer bouligand, clarke;
  char model_hash[65], params_hash[65], batch_hash[65];
} scene;

extern char forge_folder[64];

/* False when more is touched than the forger wants; end it all the same. */
bool scene_begin(scene *s, network *net, bool params);
void scene_end(scene *s);
/* The profile's text, as in the network's claim. */
void profile_text(char *text, size_t size, const claim *c);

/* Is the verdict true of it? */
answer scene_truth(const scene *s, clarke_verdict v);
/* The sides AD takes, where its proxy is that of one; else 0. */
void scene_ad_sides(int *side, const scene *s);
size_t site_sides(const site *k);

/* Writes the proof's first lines. */
void put_statement(FILE *out, const scene *s, clarke_verdict v);
/* The name and index of entry i of what is in wrt. */
const char *entry_name(size_t *index, const scene *s, size_t i);

/* Audits, and writes the proof when there is a verdict: its text, from `evidence` on; NULL when undecided. */
char *library_proof(clarke_audit *a, scene *s);

typedef struct {
  int status; /* of the checker, -1: killed */
  size_t line;
  char said[512];
} verdict_word;

/* The proof, sealed: with intervals of at most so many bits. */
verdict_word checked(const char *proof, size_t size, unsigned long bits);
/* Keeps the files and the proof last checked; where. */
const char *keep_files(void);

#endif
