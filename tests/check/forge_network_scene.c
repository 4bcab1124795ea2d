#include "forge_network_scene.h"

#include "../format/files.h"
#include "../ok.h"

#include "proof/write.h"
#include "format/onnx.h"
#include "network/graph/build.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of lib/check, whose headers would clash with those above. */
void clarke_check_proof(const char *path, const char *data);
void session_set_bits(unsigned long bits);

char forge_folder[64];

/* --- files ------------------------------------------------------------------------------------------ */

static void
hash_of(char hex[65], const void *data, size_t size)
{
  unsigned char hash[32];

  if (EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL) != 1)
    ck_abort_msg("no SHA-256");
  for (size_t i = 0; i < 32; i++)
    snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

static void
save_at(const char *name, const void *data, size_t size)
{
  char path[128];
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", forge_folder, name);
  f = fopen(path, "wb");
  if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
    ck_abort_msg("%s cannot be written", path);
}

static void
save_hashed(char hex[65], const char *name, bytes *b)
{
  hash_of(hex, b->data, b->size);
  save_at(name, b->data, b->size);
}

/* The model's weights are replaced by other numbers; the params hold what they were. */
static void
save_params(scene *s)
{
  clarke_model *m = &s->net->m;
  const clarke_tensor *list[MOST_TENSORS] = {NULL};
  bytes b;
  size_t n = 0;

  for (size_t t = 0; t < m->n_tensors; t++)
    if (s->net->role[t] != IS_OTHER)
      list[n++] = &m->tensors[t];
  b = npz_bytes(list, n);
  save_hashed(s->params_hash, "params.npz", &b);
  bytes_clear(&b);
  for (size_t i = 0; i < n; i++)
    for (size_t e = 0; e < list[i]->count; e++)
      list[i]->real[e] = 3 - list[i]->real[e];
}

static bool
is_used(const clarke_model *m, const char *name)
{
  bool used = false;

  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t k = 0; k < m->nodes[i].n_in; k++)
      used = used || strcmp(m->nodes[i].in[k], name) == 0;
  return used;
}

static void
fill_weights(network *net)
{
  for (size_t t = 0; t < net->m.n_tensors; t++)
    for (size_t e = 0; net->role[t] != IS_OTHER && e < net->m.tensors[t].count; e++)
      net->m.tensors[t].real[e] = net->claim.weight[net->base[t] + e];
}

/* Writes and reads the model. */
static void
save_files(scene *s)
{
  network *net = s->net;
  const clarke_tensor *batch[] = {&net->x, &net->y};
  bytes b;

  for (size_t t = 0; t < net->m.n_tensors; t++)
    s->params = s->params && is_used(&net->m, net->m.tensors[t].name);
  fill_weights(net);
  if (s->params)
    save_params(s);
  b = onnx_bytes(&net->m);
  save_hashed(s->model_hash, "net.onnx", &b);
  OK(clarke_onnx_parse(&s->model, b.data, b.size, "net.onnx", &error));
  bytes_clear(&b);
  fill_weights(net);
  b = npz_bytes(batch, 2);
  save_hashed(s->batch_hash, "batch.npz", &b);
  bytes_clear(&b);
}

/* --- scenes ------------------------------------------------------------------------------------------- */

static void
small_text(char *text, small x)
{
  snprintf(text, 32, x.d == 1 ? "%ld" : "%ld/%ld", x.n, x.d);
}

static const char *
proxy_text(const proxy *p)
{
  static char text[32];

  small_text(text, p->number);
  return p->kind == PROXY_LEFT ? "left" : p->kind == PROXY_RIGHT ? "right" : text;
}

static const char *
tie_text(const tie *t)
{
  static const char *const names[] = {"first", "last", "mean"};
  static char text[48] = "hybrid ";

  small_text(text + 7, t->share);
  return t->rule == TIE_HYBRID ? text : names[t->rule];
}

void
profile_text(char *text, size_t size, const claim *c)
{
  size_t at = 0;

  for (size_t o = 0; o < OPERATORS; o++)
    for (size_t k = 0; k < operator_kinks[o]; k++)
      at += (size_t)snprintf(text + at, size - at, "%s %zu %s\n", operator_name[o], k, proxy_text(&c->proxy[o][k]));
  for (size_t p = 0; p < POOLS; p++)
    at += (size_t)snprintf(text + at, size - at, "tie %s %s\n", pool_name[p], tie_text(&c->tie[p]));
}

static void
replace_params(scene *s)
{
  clarke_tensor list[MOST_TENSORS];
  network *net = s->net;
  size_t n = 0;

  for (size_t t = 0; t < net->m.n_tensors; t++)
    if (net->role[t] != IS_OTHER)
      list[n++] = net->m.tensors[t];
  OK(clarke_graph_replace(&s->graph, list, n, "params.npz", &error));
}

static void
ask_library(scene *s)
{
  network *net = s->net;
  char profile[1024], *names[MOST_TENSORS];
  size_t n = 0;
  clarke_loss loss = {.kind = (clarke_loss_kind)net->claim.loss, .y = net->claim.loss == LOSS_SUM ? NULL : &net->y, .samples = net->samples};

  OK(clarke_graph_build(&s->graph, &s->model, &net->x, &error));
  if (s->params)
    replace_params(s);
  for (size_t t = 0; t < net->m.n_tensors; t++)
    if (net->wrt[t])
      names[n++] = net->m.tensors[t].name;
  OK(clarke_graph_wrt(&s->graph, names, n, &error));
  profile_text(profile, sizeof profile, &net->claim);
  OK(clarke_profile_parse(&s->profile, profile, strlen(profile), "drawn", &error));
  OK(clarke_loss_check(&loss, &s->graph, &error));
  OK(clarke_replay_run(&s->replay, NULL, &s->graph, &net->x, false, 1, &error));
  OK(clarke_question_init(&s->question, &s->replay, &s->profile, &loss, &error));
}

static void
find_site(site *k, const scene *s, const clarke_touch *t)
{
  const formula *f = &s->net->f;
  size_t node = s->graph.steps[t->step].node, i = 0, round = 0;

  for (size_t step = 0; step < t->step; step++)
    round += s->graph.steps[step].node == node && s->graph.steps[step].kind == CLARKE_MAX;

  while (i < f->n && !((f->at[i].what == DO_PIECES || f->at[i].what == DO_LARGEST) && f->at[i].node == node &&
                       f->at[i].round == round && f->at[i].feature == t->feature && f->at[i].sample == t->sample))
    i++;
  if (i == f->n)
    ck_abort_msg("a touched kink of node %zu that the formula does not have", node);
  *k = (site){.instruction = i, .kink = t->kink, .options = t->n_options};
  for (size_t o = 0; o < t->n_options && o < MOST_OPTIONS; o++) {
    size_t e = 0;

    while (e < f->at[i].n && f->at[i].from[e] != t->option[o])
      e++;
    if (e == f->at[i].n)
      ck_abort_msg("an option that the formula does not have");
    k->entry[o] = e;
  }
}

/* False when it cannot tell. */
static bool
ask_oracle(scene *s)
{
  const formula *f = &s->net->f;
  const claim *c = &s->net->claim;
  const series *loss;

  s->y = malloc((f->n + 1) * sizeof *s->y);
  if (!formula_follow(s->y, f, c, NULL))
    return false;
  loss = s->y[f->loss[c->loss]];
  s->ad = numbers(c->n_variables);
  s->rounded = loss->rounded;
  gradient_of(s->ad, loss, c->n_variables);
  gradients_find(&s->found, f, c);
  s->bouligand = is_bouligand(&s->found, s->ad, s->rounded);
  s->clarke = is_clarke(&s->found, s->ad, s->rounded);
  return true;
}

bool
scene_begin(scene *s, network *net, bool params)
{
  memset(s, 0, sizeof *s);
  s->net = net;
  s->params = params;
  s->bouligand = s->clarke = UNKNOWN;
  s->mark = series_mark();
  clarke_model_init(&s->model);
  clarke_graph_init(&s->graph);
  clarke_profile_init(&s->profile);
  clarke_replay_init(&s->replay);
  save_files(s);
  ask_library(s);
  s->n = s->replay.n_touches;
  if (s->n > MOST_TOUCHED)
    return false;
  for (size_t k = 0; k < s->n; k++)
    find_site(&s->site[k], s, &s->replay.touch[k]);
  return ask_oracle(s);
}

void
scene_end(scene *s)
{
  if (s->ad != NULL)
    numbers_free(s->ad, s->net->claim.n_variables);
  gradients_clear(&s->found);
  free(s->y);
  series_release(s->mark);
  clarke_question_clear(&s->question);
  clarke_replay_clear(&s->replay);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
  clarke_model_clear(&s->model);
}

answer
scene_truth(const scene *s, clarke_verdict v)
{
  if (v == CLARKE_NOT_IN_CLARKE)
    return s->clarke == UNKNOWN ? UNKNOWN : s->clarke == YES ? NO : YES;
  return v == CLARKE_IN_BOULIGAND ? s->bouligand : s->bouligand == YES ? YES : s->clarke;
}

size_t
site_sides(const site *k)
{
  return k->options > 0 ? k->options : 2;
}

/* The option that AD takes; 0 when it takes none alone. */
static int
tied_side(const scene *s, const site *k)
{
  const instruction *i = &s->net->f.at[k->instruction];
  const tie *t = &s->net->claim.tie[i->operator];
  bool tied[MOST_ROW];
  size_t e = t->rule == TIE_LAST ? i->n - 1 : 0;

  if (t->rule == TIE_MEAN || (t->rule == TIE_HYBRID && t->share.n != 0))
    return 0;
  tied_entries(tied, &s->net->f, k->instruction, s->y);
  while (!tied[e])
    e += t->rule == TIE_LAST ? NOWHERE : 1;
  for (size_t o = 0; o < k->options; o++) /* or a copy of its first entry */
    if (series_add(s->y[i->in[k->entry[o]]], s->y[i->in[e]], (small){-1, 1})->n == 0)
      return (int)o + 1;
  return 0;
}

void
scene_ad_sides(int *side, const scene *s)
{
  mpq_t left, right, own;

  mpq_inits(left, right, own, NULL);
  for (size_t k = 0; k < s->n; k++) {
    const site *at = &s->site[k];
    const instruction *i = &s->net->f.at[at->instruction];

    if (at->options > 0) {
      side[k] = tied_side(s, at);
      continue;
    }
    const proxy *p = &s->net->claim.proxy[i->operator][i->pieces.first + at->kink];

    side_slope(left, &s->net->f, at->instruction, at->kink, false, s->y);
    side_slope(right, &s->net->f, at->instruction, at->kink, true, s->y);
    number_of(own, p->number);
    side[k] = p->kind == PROXY_LEFT || (p->kind == PROXY_NUMBER && mpq_equal(own, left)) ? -1
              : p->kind == PROXY_RIGHT || mpq_equal(own, right)                             ? 1
                                                                                            : 0;
  }
  mpq_clears(left, right, own, NULL);
}

/* --- proofs ------------------------------------------------------------------------------------------ */

static bool
has_operator(const network *net, const char *name)
{
  bool has = false;

  for (size_t i = 0; i < net->m.n_nodes; i++)
    has = has || strcmp(net->m.nodes[i].op_type, name) == 0;
  return has;
}

void
put_statement(FILE *out, const scene *s, clarke_verdict v)
{
  const network *net = s->net;
  const claim *c = &net->claim;

  fprintf(out, "clarke-proof 1\nverdict %s\nsemantics real\nmodel net.onnx %s\n", clarke_verdict_name(v),
          s->model_hash);
  if (s->params)
    fprintf(out, "params params.npz %s\n", s->params_hash);
  fprintf(out, "batch batch.npz %s\nloss %s\nwrt", s->batch_hash, loss_name[c->loss]);
  for (size_t t = 0; t < net->m.n_tensors; t++)
    if (net->wrt[t])
      fprintf(out, " %s", net->m.tensors[t].name);
  fputs("\nprofile drawn\n", out);
  for (size_t o = 0; o < OPERATORS; o++)
    for (size_t k = 0; has_operator(net, operator_name[o]) && k < operator_kinks[o]; k++)
      fprintf(out, "proxy %s %zu %s\n", operator_name[o], k, proxy_text(&c->proxy[o][k]));
  for (size_t p = 0; p < POOLS; p++)
    if (has_operator(net, pool_node[p]))
      fprintf(out, "tie %s %s\n", pool_name[p], tie_text(&c->tie[p]));
  fprintf(out, "touched %zu\n", s->n);
}

const char *
entry_name(size_t *index, const scene *s, size_t i)
{
  const network *net = s->net;

  for (size_t t = 0; t < net->m.n_tensors; t++) {
    if (!net->wrt[t])
      continue;
    *index = i;
    if (i < net->m.tensors[t].count)
      return net->m.tensors[t].name;
    i -= net->m.tensors[t].count;
  }
  ck_abort_msg("no such entry");
}

static char *
whole_file(const char *name)
{
  char path[128], *text = calloc(1, 1 << 20);
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", forge_folder, name);
  f = fopen(path, "rb");
  if (f == NULL || fread(text, 1, (1 << 20) - 1, f) == 0)
    ck_abort_msg("%s cannot be read", path);
  fclose(f);
  return text;
}

char *
library_proof(clarke_audit *a, scene *s)
{
  char path[128], *names[MOST_TENSORS], *text, *evidence;
  size_t n = 0;
  clarke_proof_statement statement = {.model = {.name = "net.onnx", .sha256 = s->model_hash},
                                        .batch = {.name = "batch.npz", .sha256 = s->batch_hash}};
  clarke_status status = clarke_audit_run(a, &s->question, false, &error);

  if (status == CLARKE_EVAGUE) /* undecided, too: of huge numbers a gradient may have no bounds */
    return NULL;
  OK(status);
  if (a->verdict == CLARKE_UNDECIDED)
    return NULL;
  for (size_t t = 0; t < s->net->m.n_tensors; t++)
    if (s->net->wrt[t])
      names[n++] = s->net->m.tensors[t].name;
  statement.wrt = names;
  statement.n_wrt = n;
  if (s->params)
    statement.params = (clarke_proof_input){"params.npz", s->params_hash, NULL};
  snprintf(path, sizeof path, "%s/proof", forge_folder);
  OK(clarke_proof_write(path, &statement, a, &s->question, &error));
  text = whole_file("proof");
  evidence = strstr(text, "\nevidence ");
  if (evidence == NULL)
    ck_abort_msg("a proof without evidence");
  strstr(evidence, "\nend ")[1] = '\0';
  evidence = strdup(evidence + 1);
  free(text);
  return evidence;
}

/* The checker in a child, without the library's output. */
static int
check_once(int said, unsigned long bits)
{
  char path[128];
  int status;
  pid_t child;

  snprintf(path, sizeof path, "%s/proof", forge_folder);
  fflush(NULL);
  child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_CPU, &(struct rlimit){60, 60});
    if (ftruncate(said, 0) != 0 || lseek(said, 0, SEEK_SET) != 0)
      _exit(99);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    session_set_bits(bits);
    clarke_check_proof(path, NULL);
    fflush(stdout);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child)
    ck_abort_msg("no child for the checker");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the checker writes to: a file without a name. */
static int
open_said(void)
{
  char path[128];
  int said;

  snprintf(path, sizeof path, "%s/said", forge_folder);
  said = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (said < 0 || unlink(path) != 0)
    ck_abort_msg("%s cannot be opened", path);
  return said;
}

verdict_word
checked(const char *proof, size_t size, unsigned long bits)
{
  static int said = -1;
  char hex[65], *sealed = malloc(size + 128);
  verdict_word w = {.status = 3};
  ssize_t n;

  if (said < 0)
    said = open_said();
  hash_of(hex, proof, size);
  memcpy(sealed, proof, size);
  save_at("proof", sealed, size + (size_t)sprintf(sealed + size, "end %s\n", hex));
  free(sealed);
  for (unsigned long b = 64; b <= bits && w.status == 3; b *= 2)
    w.status = check_once(said, b);
  n = pread(said, w.said, sizeof w.said - 1, 0);
  w.said[n > 0 ? n : 0] = '\0';
  sscanf(w.said, "FAILED line %zu", &w.line);
  if ((w.status == 0) != (strncmp(w.said, "VERIFIED\n", 9) == 0))
    ck_abort_msg("the checker ends with %d and says %s", w.status, w.said);
  return w;
}

const char *
keep_files(void)
{
  static size_t n;
  static char where[80];
  char line[400];

  snprintf(where, sizeof where, "/tmp/clarke-forged-%d-%zu", (int)getpid(), n++);
  snprintf(line, sizeof line, "mkdir -p %s && cp %s/* %s", where, forge_folder, where);
  if (system(line) != 0)
    fprintf(stderr, "the files could not be kept\n");
  return where;
}
