/* clarke-check on proofs about programs: written by hand, with one thing wrong, with bytes changed, and
 * written by the library for random programs. */
#include "apart.h"
#include "program/prog.h"
#include "proof/write.h"
#include "../suite.h"

#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/clarke-programs-XXXXXX";
static unsigned long seed = 5, state = 5;

static unsigned
draw(unsigned n)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}

static void
sha256_of(char hex[65], const char *text, size_t n)
{
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;

  ck_assert_int_eq(EVP_Digest(text, n, digest, &size, EVP_sha256(), NULL), 1);
  for (unsigned i = 0; i < 32; i++)
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void
save(const char *name, const char *text, size_t n)
{
  char path[256];
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = fopen(path, "wb");
  ck_assert(f != NULL && fwrite(text, 1, n, f) == n && fclose(f) == 0);
}

static size_t
load(char *text, size_t size, const char *name)
{
  char path[256];
  FILE *f;
  size_t n;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = fopen(path, "rb");
  ck_assert(f != NULL);
  n = fread(text, 1, size - 1, f);
  fclose(f);
  text[n] = '\0';
  return n;
}

/* The checker's exit status; what it says. */
static int
run(char *said, size_t size, const char *proof)
{
  char path[256];

  snprintf(path, sizeof path, "%s/%s", folder, proof);
  return check_apart(path, NULL, 1, said, size);
}

/* Ends the text anew: its last line is replaced. */
static size_t
seal(char *text, size_t n)
{
  char hex[65];

  sha256_of(hex, text, n - 69);
  sprintf(text + n - 69, "end %s\n", hex);
  return n;
}

/* ---- proofs by hand */

#define LEMMA2 "# Lemma 2\ninput w\noutput relu(w) - relu(-w)\n"
#define TWO_DEAD "tree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"
#define LEMMA2_TREE "evidence separator\nv -1\n" TWO_DEAD
#define RELU0 "wrt *\nprofile pytorch-2.13\nproxy Relu 0 0\n"
#define PLAIN "wrt *\nprofile pytorch-2.13\n"
#define CROSS "input x, y\noutput relu{0}(x*y) + relu{0}(x) + relu{1}(y)\n"
#define HALVES "evidence hull 2\ncell 1/2\narc 1\nstep -1\ncell 1/2\narc 1\nstep 1\n"
#define NORM "input x, y\noutput norm2(x, y)\n"
#define XY0 "at x 0\nat y 0\n" PLAIN
#define AXES "evidence hull 2\ncell 1/2\narc 1\nstep 1 0\ncell 1/2\narc 1\nstep -1 0\n"
#define OPPOSITE(v, w) "evidence hull 2\ncell 1/2\narc 1\nstep " v "\ncell 1/2\narc 1\nstep " w "\n"
#define OPEN_LEAF "evidence unanimous\ntree\nopen\nleaf\n"
#define OPEN_SEPARATED(v) "evidence separator\nv " v "\ntree\nopen\nleaf\n"
#define TIE "wrt *\nprofile pytorch-2.13\ntie Max "

/* status 0: verified, and says so in these words; else fails with them. */
static const struct {
  int status;
  const char *reason, *program, *verdict, *lines, *touched, *evidence;
} cases[] = {
  {0, "<v, AD> = 0, but <v, gradient> is at most -1", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2", LEMMA2_TREE},
  /* The slope of a quotient in what it is divided by, and in what is divided. */
  {0, "but <v, gradient> is at most -1/4", "input w\noutput 1 / (2 + relu(w) - relu(-w))\n", "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv 1\n" TWO_DEAD},
  {0, "but <v, gradient> is at most -1/4", "input w\noutput (relu(w) - relu(-w)) / (4 + w)\n", "not-in-clarke", "at w 0\n" RELU0, "2", LEMMA2_TREE},
  /* Both sides at once: never of x + y; of elu's, which is no polynomial, between -elu(x) and -x. */
  {0, "but <v, gradient> is at most 2", "input x, y\noutput relu{1}(x + y) - relu{1}(-x - y)\n", "not-in-clarke",
   "at x 0\nat y 0\n" PLAIN, "2", "evidence separator\nv 1 1\n" TWO_DEAD},
  {1, "decision 0 is not known to be a polynomial", "input x, y\noutput relu{1}(elu(x) + y) - relu{1}(-x - y)\n", "not-in-clarke",
   "at x 0\nat y 0\n" PLAIN "proxy Elu 0 left\n", "2", "evidence separator\nv 1 1\n" TWO_DEAD},
  /* Right of its kink it is one. */
  {0, "but <v, gradient> is at most -1", "input x\noutput relu(elu(x, 2)) - relu(-x)\n", "not-in-clarke",
   "at x 0\n" PLAIN "proxy Elu 0 left\nproxy Relu 0 0\n", "3",
   "evidence separator\nv -1\ntree\nbranch 2\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 2 1\nleaf\nbranch 2\ndead 2\nu 0 1\nu 2 1\nleaf\n"
   "branch 2\ndead 2\nu 0 1\nu 1 1\nbranch 2\nleaf\ndead 2\nu 0 1\nu 2 1\n"},
  /* Literals: touched where the number is. */
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 0xaFp0)\n", "in-bouligand", "at x 175\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 0xA.bp4)\n", "in-bouligand", "at x 171\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 0x1.8p-1)\n", "in-bouligand", "at x 3/4\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  /* in float32: a fraction, and an integer of 25 bits */
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 0.1f)\n", "in-bouligand", "at x 13421773/134217728\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 16777217f)\n", "in-bouligand", "at x 16777216\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 12)\n", "in-bouligand", "at x 12\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 1.25e2)\n", "in-bouligand", "at x 125\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 15E-2)\n", "in-bouligand", "at x 3/20\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 0.1f)\n", "in-bouligand", "at x 13421773/134217728\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "an element of the Bouligand", "input x\noutput relu{0}(x - 1024.0625)\n", "in-bouligand", "at x 16385/16\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "not separated", LEMMA2, "not-in-clarke", "at w 0\nwrt *\nprofile p\nproxy Relu 0 1/2\n", "2", LEMMA2_TREE},
  {1, "touched instructions is 0", LEMMA2, "not-in-clarke", "at w 1\n" RELU0, "2", LEMMA2_TREE},
  {1, "touched instructions is 2", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "1", LEMMA2_TREE},
  {1, "there is no fork", LEMMA2, "not-in-clarke", "at w 1\n" RELU0, "0", LEMMA2_TREE},
  {1, "does not prove", LEMMA2, "in-clarke", "at w 0\n" RELU0, "2", LEMMA2_TREE},
  {1, "leaf is before a fork", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2", "evidence separator\nv -1\ntree\nleaf\n"},
  {1, "this fork has 2 choices", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv -1\ntree\nbranch 3\nleaf\nleaf\nleaf\n"},
  {1, "not zero, nor less", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv -1\ntree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 2\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {1, "not zero, nor less", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv -1\ntree\nbranch 2\nbranch 2\ndead 1\nu 0 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {1, "a combination of no decisions proves nothing", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv -1\ntree\nbranch 2\nbranch 2\ndead 0\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {1, "decisions above, in increasing order, are expected", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv -1\ntree\nbranch 2\nbranch 2\ndead 2\nu 1 1\nu 0 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {1, "not separated", LEMMA2, "not-in-clarke", "at w 0\n" RELU0, "2",
   "evidence separator\nv 1\ntree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {2, "a whole number of entries", "input x[25e-1]\noutput sum(x)\n", "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {2, "a whole number of entries", "input x[0]\noutput sum(x)\n", "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {2, "line 1: an input of more entries; the limit is 2097152 (--limit instructions=N raises it)", "input x[3000000]\noutput sum(x)\n",
   "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {2, "line 2: an input of more entries", "input w\ninput x[99999999999999999999999]\noutput sum(x)\n", "in-bouligand",
   "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "'proxy' is expected", LEMMA2, "not-in-clarke", "at w 0\n" PLAIN, "2", LEMMA2_TREE},
  {1, "is unknown", LEMMA2, "not-in-clarke", "at w 0\nwrt *\nprofile p\nproxy Relu 0 unknown\n", "2", LEMMA2_TREE},

  {0, "AD returns (0). It is\nan element of the Bouligand", "input t\noutput relu(t)\n", "in-bouligand", "at t 0\n" RELU0,
   "1", "evidence ad\narc 1\nstep -1\n"},
  {1, "not that of the gradients", "input t\noutput relu(t)\n", "in-bouligand", "at t 0\n" RELU0, "1",
   "evidence ad\narc 1\nstep 1\n"},
  {1, "does not tell", "input t\noutput relu(t)\n", "in-bouligand", "at t 0\n" RELU0, "1", "evidence ad\narc 1\nstep 0\n"},
  {1, "does not tell", "input t\noutput relu(t)\n", "in-bouligand", "at t 0\n" RELU0, "1", "evidence ad\narc 0\n"},
  {1, "does not prove", "input t\noutput relu(t)\n", "not-in-clarke", "at t 0\n" RELU0, "1", "evidence ad\narc 1\nstep -1\n"},
  {0, "AD returns (0). It is\nan element of the Clarke", "input t\noutput abs{0}(t)\n", "in-clarke", "at t 0\n" PLAIN, "1",
   HALVES},
  {1, "one for this verdict", "input t\noutput abs{0}(t)\n", "in-bouligand", "at t 0\n" PLAIN, "1", HALVES},
  {1, "not that of the gradients", "input t\noutput abs{1/2}(t)\n", "in-clarke", "at t 0\n" PLAIN, "1", HALVES},
  {1, "sum to 1", "input t\noutput abs{0}(t)\n", "in-clarke", "at t 0\n" PLAIN, "1",
   "evidence hull 2\ncell 1/2\narc 1\nstep -1\ncell 1/3\narc 1\nstep 1\n"},
  {1, "not positive", "input t\noutput abs{0}(t)\n", "in-clarke", "at t 0\n" PLAIN, "1",
   "evidence hull 2\ncell -1/2\narc 1\nstep -1\ncell 3/2\narc 1\nstep 1\n"},
  {1, "in lowest terms", "input t\noutput abs{0}(t)\n", "in-clarke", "at t 0\n" PLAIN, "1",
   "evidence hull 2\ncell 2/4\narc 1\nstep -1\ncell 1/2\narc 1\nstep 1\n"},

  /* patterns of one gradient */
  {0, "AD returns (0). It is\nan element of the Bouligand", "input x\noutput relu(x*sin(x))\n", "in-bouligand", "at x 0\n" RELU0, "1",
   "evidence unanimous\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "does not prove", "input x\noutput relu(x*sin(x))\n", "in-clarke", "at x 0\n" RELU0, "1",
   "evidence unanimous\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "is not this leaf's", "input t\noutput relu(t)\n", "in-bouligand", "at t 0\n" RELU0, "1",
   "evidence unanimous\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "before a fork", "input x\noutput relu(x*sin(x))\n", "in-bouligand", "at x 0\n" RELU0, "1", "evidence unanimous\ntree\nleaf\n"},

  /* ties */
  {0, "AD returns (1/2, 1/2, 0)", "input x[3]\noutput max(x)\n", "in-clarke", "at x 0 0 -1\n" TIE "mean\n", "1",
   "evidence hull 2\ncell 1/2\narc 1\nstep 1 0 0\ncell 1/2\narc 1\nstep 0 1 0\n"},
  {1, "not that of", "input x[3]\noutput max(x)\n", "in-clarke", "at x 0 0 -1\n" TIE "first\n", "1",
   "evidence hull 2\ncell 1/2\narc 1\nstep 1 0 0\ncell 1/2\narc 1\nstep 0 1 0\n"},
  {0, "AD returns (0, 1, 0)", "input x[3]\noutput max(x)\n", "in-bouligand", "at x 0 0 -1\n" TIE "last\n", "1",
   "evidence ad\narc 1\nstep 0 1 0\n"},
  {0, "<v, AD> = 4, but <v, gradient> is at most 1", "input x[2]\noutput max(x)\n", "not-in-clarke", "at x 0 0\n" TIE "hybrid -6\n",
   "1", "evidence separator\nv 1 0\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "not that of the gradients", "input x[3]\noutput kth{first}(2, x)\n", "in-bouligand", "at x 0 0 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep 2 1 0\n"},
  {0, "AD returns (1). It is\nan element of the Bouligand", "input x\noutput max(x, x)\n", "in-bouligand", "at x 2\n" TIE "hybrid 5\n",
   "1", "evidence ad\narc 0\n"},
  {0, "AD returns (0)", "input x\nlet e = exp(x)\noutput 2*max(e, e)*exp(-x)*exp(x) - 2*(e - 1)*exp(x)/exp(x)\n", "in-bouligand",
   "at x 0\n" TIE "mean\n", "1", "evidence ad\narc 0\n"},

  /* branches */
  {0, "AD returns (1)", "input x\noutput if x > 0 then 2*x else x\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "AD returns (3)", "input x\noutput if x == 0 then 3*x else x\n", "not-in-clarke", "at x 0\n" PLAIN, "1",
   "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "do not meet", "input x\noutput if x == 0 then 1 + 3*x else x\n", "not-in-clarke", "at x 0\n" PLAIN, "1",
   "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "do not meet", "input x\noutput if x > 0 then 1 + x else x\n", "in-clarke", "at x 0\n" PLAIN, "1", HALVES},
  {1, "may be equal", "input x\nlet s = sin(x)*sin(x) + cos(x)*cos(x)\noutput if s - 1 == 0 then 3*x else x\n", "not-in-clarke",
   "at x 0\n" PLAIN, "1", "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {0, "AD returns (3)", "input x\nlet s = (x + 1)*(x - 1) - x*x\noutput if s == -1 then 3*x else x\n", "in-bouligand",
   "at x 0\n" PLAIN, "1", "evidence ad\narc 0\n"},
  {0, "AD returns (0)", "input x\noutput if x > 0 then log(x) else 0\n", "in-bouligand", "at x -1\n" PLAIN, "0",
   "evidence ad\narc 0\n"},
  {1, "logarithm", "input x\noutput if x > 0 then log(x) else 0\n", "in-clarke", "at x 0\n" PLAIN, "1", HALVES},

  /* beyond the first order */
  {0, "AD returns (0)", "input x\noutput relu{right}(x*x)\n", "in-bouligand", "at x 0\n" PLAIN, "1", "evidence ad\narc 1\nstep 1\n"},
  {0, "AD returns (0, -1)", "input x, y\noutput relu{1}(x*x - y)*2 + relu{1}(y)\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "2",
   "evidence hull 1\ncell 1\narc 2\nstep 1 0\nstep 0 1/2\n"},
  {1, "not that of", "input x, y\noutput relu{1}(x*x - y)*2 + relu{1}(y)\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "2",
   "evidence hull 1\ncell 1\narc 2\nstep 1 0\nstep 0 2\n"},
  {0, "AD returns (0, 1)", CROSS, "in-bouligand", "at x 0\nat y 0\n" PLAIN, "3", "evidence ad\narc 1\nstep -1 1\n"},
  {0, "at most 1\n", "input x, y\noutput relu{3}(x) - relu{0}(-x*x - y*y)\n", "not-in-clarke", "at x 0\nat y 0\n" PLAIN, "2",
   "evidence separator\nv 1 0\ntree\nbranch 2\nbranch 2\nleaf\ndead 1\nu 1 1\nbranch 2\nleaf\ndead 1\nu 1 1\n"},
  /* Polynomials are of 32 variables at most. */
#define ZEROS30 "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
#define AMONG(n) "input z[" n "], x, y\noutput relu{3}(x) - relu{0}(-x*x - y*y)\n", "not-in-clarke"
#define SQUARES_DEAD " 1 0\ntree\nbranch 2\nbranch 2\nleaf\ndead 1\nu 1 1\nbranch 2\nleaf\ndead 1\nu 1 1\n"
  {0, "at most 1\n", AMONG("30"), "at z " ZEROS30 "\nat x 0\nat y 0\n" PLAIN, "2", "evidence separator\nv " ZEROS30 SQUARES_DEAD},
  {1, "decision 1 may be zero", AMONG("31"), "at z " ZEROS30 " 0\nat x 0\nat y 0\n" PLAIN, "2",
   "evidence separator\nv " ZEROS30 " 0" SQUARES_DEAD},
  {1, "not zero, nor less", "input x, y\noutput relu{3}(x) - relu{0}(-x*x + x*y - y*y)\n", "not-in-clarke", "at x 0\nat y 0\n" PLAIN, "2",
   "evidence separator\nv 1 0\ntree\nbranch 2\nbranch 2\nleaf\ndead 1\nu 1 1\nbranch 2\nleaf\ndead 1\nu 1 1\n"},

  {1, "not zero, nor less", "input x\noutput if x*x*x > 0 then x else -x\n", "not-in-clarke", "at x 0\n" PLAIN, "1",
   "evidence separator\nv -1\ntree\nbranch 2\ndead 1\nu 0 1\nleaf\n"},

  /* factors that are not zero */
  {0, "at most -3", "input x, y\noutput relu(x*y) - relu(-x*y/2)*2\n", "not-in-clarke", "at x 0\nat y 3\n" RELU0, "2",
   "evidence separator\nv -1 0\ntree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {0, "at most -3", "input x, y\noutput relu(x*y) - relu(-x*y/2)*2\n", "not-in-clarke", "at x 0\nat y -3\n" RELU0, "2",
   "evidence separator\nv 1 0\ntree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},
  {1, "not zero, nor less", "input x, y\noutput relu(x*y) - relu(-x*y*x)*2\n", "not-in-clarke", "at x 0\nat y 3\n" RELU0, "2",
   "evidence separator\nv -1 0\ntree\nbranch 2\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\n"},

  /* what is not exact */
  {0, "about 2.718281828", "input x\noutput exp(1 + x) + relu(tanh(x))\n", "in-bouligand", "at x 0\n" RELU0, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "<v, AD> = about 5.43", "input x\noutput exp(1)*relu{2}(x) - relu{0}(-sin(x))\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   "evidence separator\nv 1\ntree\nbranch 2\nbranch 2\nleaf\nleaf\nbranch 2\nleaf\nleaf\n"},
  {1, "does not move a norm", "input x[2]\noutput norm2(x)\n", "in-bouligand", "at x 0 0\n" PLAIN, "1", "evidence ad\narc 0\n"},
  {0, "AD returns (3/5, 4/5)", "input x[2]\noutput norm2(x)\n", "in-bouligand", "at x 3 4\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {0, "AD returns ((1, 1), (0, 2))", "input x, y\noutput x + y, 2*y\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "0",
   "evidence ad\narc 0\n"},
  {0, "AD returns (2)", "input x, y\noutput x + 2*y\n", "in-bouligand", "at x 0\nat y 0\nwrt y\nprofile p\n", "0", "evidence ad\narc 0\n"},
  {1, "is no input", "input x, y\noutput x + 2*y\n", "in-bouligand", "at x 0\nat y 0\nwrt y x\nprofile p\n", "0", "evidence ad\narc 0\n"},
  {0, "AD returns (0)", "input x\noutput x*relu(x) + 0*abs(x)\n", "in-bouligand",
   "at x 0\nwrt *\nprofile p\nproxy Abs 0 unknown\nproxy Relu 0 unknown\n", "2", "evidence ad\narc 1\nstep 1\n"},
  {1, "unknown", "input x\noutput x*relu(x) + abs(x)\n", "in-bouligand",
   "at x 0\nwrt *\nprofile p\nproxy Abs 0 unknown\nproxy Relu 0 unknown\n", "2", "evidence ad\narc 1\nstep 1\n"},
  {1, "infinite", "input x\noutput sqrt(x*x)\n", "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},

  /* norms of zeros: along arcs, enclosed in trees */
  {0, "AD returns (0, 0). It is\nan element of the Clarke", NORM, "in-clarke", XY0, "1", AXES},
  {1, "one for this verdict", NORM, "in-bouligand", XY0, "1", AXES},
  {1, "not that of the gradients", NORM, "in-clarke", XY0, "1",
   "evidence hull 2\ncell 1/3\narc 1\nstep 1 0\ncell 2/3\narc 1\nstep -1 0\n"},
  {0, "an element of the Clarke", NORM, "in-clarke", XY0, "1",
   "evidence hull 2\ncell 1/2\narc 1\nstep 3 -4\ncell 1/2\narc 1\nstep -3 4\n"},
  {1, "not that of the gradients", NORM, "in-bouligand", XY0, "1", "evidence hull 1\ncell 1\narc 1\nstep 3 -4\n"},
  {1, "not that of the gradients", NORM, "in-bouligand", XY0, "1", "evidence ad\narc 1\nstep 3 -4\n"},
  /* their roots are not rational, but they are opposite */
  {0, "an element of the Clarke", NORM, "in-clarke", XY0, "1", OPPOSITE("1 1", "-1 -1")},
  {1, "not that of the gradients", NORM, "in-clarke", XY0, "1", OPPOSITE("1 1", "-1 -2")},
  {1, "not that of the gradients", NORM, "in-clarke", XY0, "1", OPPOSITE("1 1", "1 1")},
  {1, "not that of the gradients", NORM, "in-clarke", XY0, "1",
   "evidence hull 2\ncell 1/3\narc 1\nstep 1 1\ncell 2/3\narc 1\nstep -1 -1\n"},
  {1, "not that of the gradients", NORM, "in-clarke", XY0, "1",
   "evidence hull 3\ncell 1/2\narc 1\nstep 1 1\ncell 1/4\narc 1\nstep -1 -1\ncell 1/4\narc 1\nstep -1 -1\n"},
  /* which of two others is larger along an arc does not matter */
#define LEVEL "input x[3]\nlet y = tanh(x*sqrt(2))*(1 + x)\noutput max(0*y[0] + x[0] + y[0]*y[0], x[1] + y[1]*y[1], x[2] + y[2]*y[2])\n"
  {0, "an element of the Clarke", LEVEL, "in-clarke", "at x 0 0 0\n" TIE "mean\n", "1",
   "evidence hull 3\ncell 1/3\narc 1\nstep 91 -45 -45\ncell 1/3\narc 1\nstep -45 91 -45\ncell 1/3\narc 1\nstep -45 -45 91\n"},
  {1, "which is larger along the arc", LEVEL, "in-clarke", "at x 0 0 0\n" TIE "mean\n", "1", "evidence hull 1\ncell 1\narc 1\nstep 1 1 0\n"},
  /* means of choices */
#define AT_XY0 "at x 0\nat y 0\n"
#define REFUSED 1, "not that of the gradients"
  {0, "AD returns (about 1.359", "input x, y\noutput exp(1 + max(x, y))\n", "in-clarke", AT_XY0 TIE "mean\n", "1", OPPOSITE("1 0", "-1 0")},
  {REFUSED, "input x, y\noutput exp(1 + max(x, y))\n", "in-clarke", AT_XY0 TIE "first\n", "1", OPPOSITE("1 0", "-1 0")},
  {0, "AD returns (about 1.812", "input x, y\noutput exp(1)*max(x, y, y)\n", "in-clarke", AT_XY0 TIE "hybrid 1/2\n", "1",
   "evidence hull 2\ncell 2/3\narc 1\nstep 1 0\ncell 1/3\narc 1\nstep -1 0\n"},
  {REFUSED, "input x, y\noutput exp(1)*max(x, y, y)\n", "in-clarke", AT_XY0 TIE "hybrid 1/2\n", "1", OPPOSITE("1 0", "-1 0")},
  {0, "an element of the Clarke", "input x, y\noutput exp(1)*(abs{0}(x) + relu{1/3}(y))\n", "in-clarke", XY0, "2",
   "evidence hull 4\ncell 1/6\narc 1\nstep 1 1\ncell 1/6\narc 1\nstep -1 1\ncell 1/3\narc 1\nstep 1 -1\ncell 1/3\narc 1\nstep -1 -1\n"},
  {REFUSED, "input x, y\noutput exp(1)*(abs{0}(x) + relu{1/3}(y))\n", "in-clarke", XY0, "2", OPPOSITE("1 1", "-1 -1")},
  {REFUSED, "input x, y\noutput exp(1)*abs{0}(2*x + abs{0}(x))\n", "in-clarke", XY0, "2", OPPOSITE("1 1", "-1 -1")},
  {REFUSED, "input x, y\noutput norm2(x, norm2(x, y))\n", "in-clarke", XY0, "2", OPPOSITE("1 1", "-1 -1")},
  {REFUSED, "input x, y\noutput exp(1)*abs{0}(x) + abs{0}(y)\n", "in-clarke", XY0, "2", OPPOSITE("1 1", "-1 1")},
  {REFUSED, "input x\noutput exp(1)*(if x > 0 then x else -x)\n", "in-clarke", "at x 0\n" PLAIN, "1", OPPOSITE("1", "-1")},
  {REFUSED, "input x\noutput exp(1)*(if x > 0 then abs{0}(x - x*x) else abs{0}(x))\n", "in-clarke", "at x 0\n" PLAIN, "2", OPPOSITE("1", "-1")},
  {0, "an element of the Clarke", "input x\noutput exp(1)*(if x < 1 then abs{0}(x - x*x) else x)\n", "in-clarke", "at x 0\n" PLAIN, "1",
   OPPOSITE("1", "-1")},
  {1, "does not move a norm", NORM, "in-clarke", XY0, "1", "evidence hull 1\ncell 1\narc 1\nstep 0 0\n"},
  {1, "does not move a norm", "input x, y\noutput norm2(x, y) - norm2(x, y)\n", "in-bouligand", XY0, "2", "evidence ad\narc 0\n"},
  {0, "an element of the Bouligand", "input x, y\noutput norm2(x, y) - norm2(y, x)\n", "in-bouligand", XY0, "2",
   "evidence hull 1\ncell 1\narc 1\nstep 3 4\n"},
  {0, "an element of the Bouligand", "input x, y\noutput norm2(x, 0*y) - abs{0}(x)\n", "in-bouligand", XY0, "2",
   "evidence hull 1\ncell 1\narc 1\nstep -2 0\n"},
  /* AD's own pattern, where what comes of the norm is multiplied by 0 */
  {0, "AD returns (0, about 2.718281828", "input x, z\noutput norm2(x)*norm2(x) + exp(z)\n", "in-bouligand",
   "at x 0\nat z 1\n" PLAIN, "2", "evidence ad\narc 1\nstep 1 0\n"},
  {1, "not that of the gradients", "input x, z\noutput exp(1 + norm2(x)) + exp(z)\n", "in-bouligand",
   "at x 0\nat z 1\n" PLAIN, "1", "evidence ad\narc 1\nstep 1 0\n"},
  /* the series of a norm: t (1 + t^2 / 2) on the right, t^2 of squares */
  {0, "AD returns (-1)", "input x\noutput relu{1}(norm2(x, x*x) - x)\n", "in-clarke", "at x 0\n" PLAIN, "2",
   "evidence hull 2\ncell 1/2\narc 1\nstep 1\ncell 1/2\narc 1\nstep -1\n"},
  {0, "AD returns (-1)", "input x\noutput relu{1}(norm2(x*x, x*x*x) - x)\n", "in-bouligand", "at x 0\n" PLAIN, "2",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "not that of the gradients", "input x\noutput relu{1}(norm2(x*x, x*x*x) - x)\n", "in-bouligand", "at x 0\n" PLAIN, "2",
   "evidence ad\narc 1\nstep 1\n"},
  {0, "is at most about 2\nat every limit of gradients; they are in 2 enclosures", "input x, y\noutput norm2(x, y) + relu{3}(x)\n",
   "not-in-clarke", XY0, "2", "evidence separator\nv 1 0\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "separated from this leaf", "input x, y\noutput norm2(x, y) + relu{2}(x)\n", "not-in-clarke", XY0, "2",
   "evidence separator\nv 1 0\ntree\nbranch 2\nleaf\nleaf\n"},
  {0, "AD returns (5/2)", "input x\noutput norm2(x, x) + relu{5/2}(x)\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "separated from this leaf", "input x\noutput norm2(x, x) + relu{12/5}(x)\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "separated from this leaf", "input x\noutput norm2(x, x) + relu{-7/5}(x)\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   "evidence separator\nv -1\ntree\nbranch 2\nleaf\nleaf\n"},
  {0, "AD returns (6)", "input x, y\noutput norm2(norm2(x, y) - 3*x) + relu{6}(x)\n", "not-in-clarke", "at x 0\nat y 0\nwrt x\nprofile p\n",
   "3", "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "separated from this leaf", "input x, y\noutput norm2(norm2(x, y) - 3*x) + relu{5}(x)\n", "not-in-clarke",
   "at x 0\nat y 0\nwrt x\nprofile p\n", "3", "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {1, "separated from this leaf", "input x, y\noutput norm2(norm2(x, y) + 3*x) + relu{5}(x)\n", "not-in-clarke",
   "at x 0\nat y 0\nwrt x\nprofile p\n", "3", "evidence separator\nv 1\ntree\nbranch 2\nleaf\nleaf\n"},
  {0, "an element of the Bouligand", "input x, y\noutput norm2(x, y)*norm2(x, y)\n", "in-bouligand", XY0, "2",
   "evidence unanimous\ntree\nleaf\n"},
  {1, "not this leaf's", NORM, "in-bouligand", XY0, "1", "evidence unanimous\ntree\nleaf\n"},
  /* what is a norm is no polynomial, and what is behind one no affine decision */
  {1, "may be zero", "input x, y\noutput relu{1}(norm2(x, y))\n", "in-bouligand", XY0, "2",
   "evidence unanimous\ntree\nbranch 2\ndead 1\nu 0 1\nleaf\n"},
  {1, "not known to be a polynomial", "input x\noutput relu{0}(norm2(x) - 2*x)\n", "in-bouligand", "at x 0\n" PLAIN, "2",
   "evidence unanimous\ntree\nbranch 2\nleaf\ndead 1\nu 0 1\n"},

  /* forks left open */
  {0, "AD returns (0)", "input x\noutput x*relu{1/2}(x)\n", "in-bouligand", "at x 0\n" PLAIN, "1", OPEN_LEAF},
  {1, "not this leaf's", "input x\noutput relu{1/2}(x)\n", "in-bouligand", "at x 0\n" PLAIN, "1", OPEN_LEAF},
  {1, "no fork for each branch", "input x\noutput x*relu{1/2}(x)\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence unanimous\ntree\nopen\nopen\nleaf\n"},
  {1, "leaf is before a fork", "input x\noutput x*relu{1/2}(x) + x*abs{0}(x)\n", "in-bouligand", "at x 0\n" PLAIN, "2", OPEN_LEAF},
  {1, "separated from this leaf", "input x\noutput relu{1/2}(x)\n", "not-in-clarke", "at x 0\n" PLAIN, "1", OPEN_SEPARATED("1")},
  {1, "separated from this leaf", "input x\noutput relu{1/2}(x)\n", "not-in-clarke", "at x 0\n" PLAIN, "1", OPEN_SEPARATED("-1")},
  {1, "separated from this leaf", "input x\noutput leaky_relu{3/2}(x, 2)\n", "not-in-clarke", "at x 0\n" PLAIN, "1", OPEN_SEPARATED("1")},
  {1, "separated from this leaf", "input x\noutput leaky_relu{3/2}(x, 2)\n", "not-in-clarke", "at x 0\n" PLAIN, "1", OPEN_SEPARATED("-1")},
  {0, "at most about 2", "input x\noutput leaky_relu{5/2}(x, 2)\n", "not-in-clarke", "at x 0\n" PLAIN, "1", OPEN_SEPARATED("1")},
  {0, "at most about 1", "input x, y\noutput max{hybrid 3}(x, y)\n", "not-in-clarke", XY0, "1", OPEN_SEPARATED("-1 1")},
  {1, "separated from this leaf", "input x, y\noutput max{hybrid 1/2}(x, y)\n", "not-in-clarke", XY0, "1", OPEN_SEPARATED("-1 1")},
  {1, "separated from this leaf", "input x, y\noutput max{hybrid 1/2}(x, y)\n", "not-in-clarke", XY0, "1", OPEN_SEPARATED("1 -1")},
  /* the second largest of x, y, 0: one is taken, then it is left open which of two it is */
  {1, "separated from this leaf", "input x, y\noutput kth{hybrid 1}(2, x, y, 0)\n", "not-in-clarke", XY0, "1",
   "evidence separator\nv 1 0\ntree\nbranch 3\nopen\nleaf\nopen\nleaf\nopen\nleaf\n"},
  {0, "AD returns (5, -10/3)", "input x, y\noutput kth{hybrid 1}(2, x, y, 0) + 3*x - 3*y - relu{-5/3}(x) + relu{-2/3}(y)\n",
   "not-in-clarke", XY0, "3", "evidence separator\nv 1 -1\ntree\nopen\nopen\nopen\nleaf\n"},
  {1, "the arm of a branch", "input x\noutput x*(if x > 0 then 2*x else x)\n", "in-bouligand", "at x 0\n" PLAIN, "1", OPEN_LEAF},
  /* and not constant where one entry is: |x| in two halves */
  {1, "not this leaf's", "input x\noutput norm2(max{hybrid 0}(0, x)) + norm2(max{hybrid 0}(0, -x))\n", "in-bouligand",
   "at x 0\n" PLAIN, "4", "evidence unanimous\ntree\nopen\nopen\nleaf\n"},
  /* it is not the polynomial of a side */
  {1, "leaf is before a fork", "input x\noutput relu{1}(2*x - leaky_relu{1}(x, 2))\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   OPEN_SEPARATED("1")},
  {1, "leaf is before a fork", "input x, y\noutput relu{1}(2*x - max{hybrid 0}(2*x, y))\n", "not-in-clarke", XY0, "2",
   OPEN_SEPARATED("1 0")},
  {1, "not known to be a polynomial", "input x\noutput relu{1}(leaky_relu{2}(x, 2))\n", "not-in-clarke", "at x 0\n" PLAIN, "2",
   "evidence separator\nv 1\ntree\nopen\nbranch 2\nleaf\ndead 1\nu 0 1\n"},

  /* an argument that the pattern makes constant, and AD does not */
  {1, "not that of the gradients", "input t\noutput exp(relu(t) - relu(-t) - t)\n", "in-bouligand", "at t 0\n" RELU0, "2",
   "evidence ad\narc 1\nstep 1\n"},
  {1, "not that of the gradients", "input t\noutput exp(relu{5}(t))\n", "in-bouligand", "at t 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "not that of the gradients", "input t\noutput exp(1 + relu{5}(t))\n", "in-bouligand", "at t 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "not that of the gradients", "input t\noutput sqrt(2 + relu{5}(t))\n", "in-bouligand", "at t 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "about 2.718281828", "input t\noutput exp(1 + relu{0}(t)) + exp(1)*t\n", "in-bouligand", "at t 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "AD returns (0)", "input t\noutput cos(relu{5}(t))\n", "in-bouligand", "at t 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {0, "AD returns (1)", "input t\noutput t + 0*sqrt(0)\n", "in-bouligand", "at t 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {0, "AD returns (1)", "input t\noutput t + sqrt(0)\n", "in-bouligand", "at t 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "infinite", "input t\noutput t + sqrt(t - t)\n", "in-bouligand", "at t 0\n" PLAIN, "0", "evidence ad\narc 0\n"},

  /* not Lipschitz near the point, or not known to be, whatever pattern the evidence follows */
  {1, "logarithm", "input x\noutput if x > 0 then log(x) else 0\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "logarithm", "input x\noutput if x > 0 then log(x) else 0\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence hull 1\ncell 1\narc 1\nstep -1\n"},
  {1, "logarithm", "input x\noutput if x > 0 then x*log(x) else 0\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "division by zero", "input x\noutput if x > 0 then 1/x else 0\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "root of 0", "input x\noutput if x > 0 then sqrt(x) else 0\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "root of 0", "input x\noutput 0*sqrt(x)\n", "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},

  /* roots of 0, branches: what is constant near the point is no end of a domain, and no jump */
#define SQUARE_ROOT "input x\nlet r = relu(x)\noutput sqrt(r*r)\n", "in-bouligand"
  {0, "AD returns (0)", SQUARE_ROOT, "at x -1\n" RELU0, "0", "evidence ad\narc 0\n"},
  {0, "AD returns (1)", SQUARE_ROOT, "at x 1\n" RELU0, "0", "evidence ad\narc 0\n"},
  {1, "near a root of 0", SQUARE_ROOT, "at x 0\n" RELU0, "1", "evidence ad\narc 1\nstep -1\n"},
  {0, "about 0.36787944117", "input x\noutput sqrt(relu(x)) + exp(x)\n", "in-bouligand", "at x -1\n" RELU0, "0", "evidence ad\narc 0\n"},
  {0, "AD returns (1)", "input x\noutput x + 0*sqrt(abs{0}(x) - x)\n", "in-bouligand", "at x 1\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "near a root of 0", "input x\noutput x + 0*sqrt(abs{1}(x) - x)\n", "in-bouligand", "at x 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep 1\n"},
  {0, "AD returns (1)", "input x\noutput x + sqrt(relu(x)*x + relu(x)/exp(x))*0\n", "in-bouligand", "at x -1\n" RELU0, "0",
   "evidence ad\narc 0\n"},
  {1, "near a root of 0", "input x, y\noutput sqrt(relu(x)*y + relu(y))*0\n", "in-bouligand", "at x -1\nat y 0\n" RELU0, "1",
   "evidence ad\narc 1\nstep 0 -1\n"},
  {0, "AD returns (1)", "input x\noutput if x - abs{0}(x) < 0 then 5 else x\n", "in-bouligand", "at x 1\n" PLAIN, "1",
   "evidence ad\narc 0\n"},
  {0, "AD returns (1)", "input x\noutput if relu(x) > 0 then 1/relu(x) else x\n", "in-bouligand", "at x -1\n" RELU0, "1",
   "evidence ad\narc 0\n"},
  /* the slope by a divisor has a sign */
  {0, "AD returns (about -2.718281828", "input x\noutput exp(1)/(1 + x) + abs{0}(x)\n", "in-clarke", "at x 0\n" PLAIN, "1",
   "evidence hull 2\ncell 1/2\narc 1\nstep -1\ncell 1/2\narc 1\nstep 1\n"},
  {1, "do not meet", "input x\noutput if x - abs{0}(x) < 0 then 5 else x\n", "in-bouligand", "at x 0\n" PLAIN, "2",
   "evidence ad\narc 1\nstep 1\n"},
  {1, "do not meet", "input x\noutput if hardswish{0}(x) > 9 then 5 else x\n", "in-bouligand", "at x 9\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1\n"},
  /* a max does not depend on what is below it, and does on what is tied with it: the function jumps at (1, 1) alone */
#define BELOW "input x, y\noutput if max{mean}(y, 1) >= x then 0 else max{mean}(y, 1) - 1\n", "in-bouligand"
  {0, "AD returns (0, 0)", BELOW, "at x 1\nat y 0\n" PLAIN, "1", "evidence ad\narc 1\nstep -1 0\n"},
  {1, "do not meet", BELOW, "at x 1\nat y 1\n" PLAIN, "2", "evidence ad\narc 1\nstep -1 0\n"},
  /* what AD passes on from an infinite derivative is NaN, where nothing masks it */
  {1, "infinite", "input x\noutput sqrt(abs{0}(x) - x)\n", "in-bouligand", "at x 1\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "infinite", "input x\noutput sqrt(0*x)\n", "in-bouligand", "at x 1\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {0, "AD returns (0)", "input x\noutput sqrt(hardswish{0}(x))\n", "in-bouligand", "at x -4\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "infinite", "input x\nlet h = hardswish{0}(x)\noutput sqrt(h - h)\n", "in-bouligand", "at x -3/2\n" PLAIN, "0",
   "evidence ad\narc 0\n"},
  {1, "infinite", "input x\noutput sqrt(relu(x)*x)\n", "in-bouligand", "at x -1\n" RELU0, "0", "evidence ad\narc 0\n"},
  {1, "near a root of 0", "input x\noutput sqrt(abs{0}(relu(x) - relu(x + 1)))\n", "in-bouligand", "at x -1\n" RELU0, "2",
   "evidence ad\narc 1\nstep -1\n"},
  {1, "infinite", "input x\noutput sqrt(relu{1}(x))\n", "in-bouligand", "at x 0\n" PLAIN, "1", "evidence ad\narc 1\nstep -1\n"},
  {1, "infinite", "input x\noutput sqrt(max{first}(0, -x))\n", "in-bouligand", "at x 1\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {0, "AD returns (0)", "input x\noutput sqrt(median{first}(0, 1, -x))\n", "in-bouligand", "at x 1\n" PLAIN, "0", "evidence ad\narc 0\n"},

  /* where arms meet F does not jump, be its value rational or not */
#define IRRATIONAL(less) "input x\noutput relu{3}(x) + tanh(1) + (if 2*x < x then " less " else x)\n", "not-in-clarke", "at x 0\n" PLAIN, "2", \
  "evidence separator\nv 1\ntree\nbranch 2\nbranch 2\nleaf\ndead 2\nu 0 1\nu 1 1\nbranch 2\ndead 2\nu 0 1\nu 1 1\nleaf\n"
  {0, "at most 2", IRRATIONAL("2*x")},
  {1, "do not meet", IRRATIONAL("2*x + 1")},
  {1, "do not meet", IRRATIONAL("2*x + exp(0 - 900)")},

  {1, "do not meet", "input x, y\noutput if x > 0 then y*y + x else x\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1 0\n"},
  {1, "do not meet", "input x, y\noutput if x > 0 then y else 0\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "1",
   "evidence ad\narc 1\nstep -1 0\n"},
  {1, "do not meet", "input x, y\noutput if x > 0 then (if y == 0 then 0 else x + 1) else 0\n", "in-bouligand",
   "at x 0\nat y 0\n" PLAIN, "1", "evidence ad\narc 1\nstep -1 0\n"},
  {1, "do not meet", "input x, y\noutput if x == 0 then (if y == 0 then 0 else 1) else 0\n", "in-bouligand",
   "at x 0\nat y 0\n" PLAIN, "2", "evidence hull 1\ncell 1\narc 1\nstep 1 0\n"},
  {1, "do not meet", "input x, y\noutput if x > y then x*x else x*y + x\n", "in-bouligand", "at x 0\nat y 0\n" PLAIN, "1",
   "evidence hull 1\ncell 1\narc 1\nstep 0 1\n"},
  {0, "AD returns (1, 0)", "input x, y\noutput if x > y then 2*x*x - y*y + x else x*y + x\n", "in-bouligand",
   "at x 0\nat y 0\n" PLAIN, "1", "evidence ad\narc 1\nstep 0 1\n"},
  {0, "AD returns (0, 0)", "input x, y\nlet r = relu(y)\noutput if x*r > y then (x*r - y)*exp(x) + y*r else r*y\n", "in-bouligand",
   "at x 0\nat y 0\n" RELU0, "2", "evidence hull 1\ncell 1\narc 1\nstep 1 1\n"},
  {0, "AD returns (1, 3)", "input x, y\noutput (if x > 0 then abs(x)*exp(y) else x*exp(x)) + 3*y\n", "in-bouligand",
   "at x 0\nat y 0\nwrt *\nprofile p\nproxy Abs 0 0\n", "1", "evidence hull 1\ncell 1\narc 1\nstep -1 0\n"},
  {0, "AD returns (2)", "input x\noutput norm2(x, 0) + x\n", "in-clarke", "at x 1\n" PLAIN, "0", "evidence hull 1\ncell 1\narc 0\n"},

  /* past limits; SQUARES makes 3^(2^18) */
#define SQUARE(a, b) "let " #b " = " #a "*" #a "\n"
#define SQUARES SQUARE(a, b) SQUARE(b, c) SQUARE(c, d) SQUARE(d, e) SQUARE(e, f) SQUARE(f, g) SQUARE(g, h) SQUARE(h, i) SQUARE(i, j) \
  SQUARE(j, k) SQUARE(k, l) SQUARE(l, m) SQUARE(m, n) SQUARE(n, o) SQUARE(o, p) SQUARE(p, q) SQUARE(q, r) SQUARE(r, s)
  {2, "the limit is 131072 (--limit bits=N raises it)", "input x\nlet a = x\n" SQUARES "output s\n", "in-bouligand", "at x 3\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {2, "the limit is 131072 (--limit bits=N raises it)", "input x\nlet a = 3\n" SQUARES "output s*x\n", "in-bouligand", "at x 3\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {1, "beyond 2^4096", "input x\nlet a = x\n" SQUARES "output sin(o)\n", "in-bouligand", "at x 3\n" PLAIN, "0", "evidence ad\narc 0\n"},
#define DOUBLE(a, b) "let " #b " = [" #a ", " #a "]\n"
  {2, "the limit is 16777216 (--limit vectors=N raises it)", "input x\nlet a = [x]\n" DOUBLE(a, b) DOUBLE(b, c) DOUBLE(c, d) DOUBLE(d, e) DOUBLE(e, f) DOUBLE(f, g) DOUBLE(g, h)
   DOUBLE(h, i) DOUBLE(i, j) DOUBLE(j, k) DOUBLE(k, l) DOUBLE(l, m) DOUBLE(m, n) DOUBLE(n, o) DOUBLE(o, p) DOUBLE(p, q) DOUBLE(q, r)
   DOUBLE(r, s) DOUBLE(s, t) DOUBLE(t, u) DOUBLE(u, v) DOUBLE(v, w) DOUBLE(w, y) "let z = b + b\noutput y[0] + z[0]\n", /* 2^24 entries before z */
   "in-bouligand", "at x 3\n" PLAIN, "0", "evidence ad\narc 0\n"},

  /* nothing that steers a terminal is shown: an override of the direction, a separator; controls are no text */
  {0, "  output x # ???evil ???\n", "input x\noutput x # \xe2\x80\xae" "evil \xe2\x80\xa8\n", "in-bouligand", "at x 3\n" PLAIN, "0",
   "evidence ad\narc 0\n"},
#define COMMENT(text) "input x\noutput x # " text "\n", "in-bouligand", "at x 3\n" PLAIN, "0", "evidence ad\narc 0\n"
  {0, "VERIFIED", COMMENT("\xf0\x9f\x98\x80")}, /* four bytes */
  {0, "VERIFIED", COMMENT("a\tb \xe2\x80\xa8 \r")},
  {2, "line 2: a comment that is no text", COMMENT("\x1b[2J")},
  {2, "line 2: a comment that is no text", COMMENT("a\tb \xc2\x9b")},
  {2, "line 2: a comment that is no text", COMMENT("\xff")},
  {2, "line 2: a comment that is no text", COMMENT("\xe2\x80\t\xae")},
  {2, "line 2: a comment that is no text", COMMENT("a\rb")},
  /* no programs */
#define NO_PROGRAM(reason, program) {2, reason, program, "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
#define NO_OUTPUT(reason, output) NO_PROGRAM(reason, "input x, y[2], z[3]\noutput " output "\n")
  NO_OUTPUT("line 2: an unknown character", "x ! y")
  NO_OUTPUT("line 2: an unknown character", "x; x")
  NO_OUTPUT("line 2: an unknown character", "x & x")
  NO_OUTPUT("line 2: ')' is expected, not ']'", "(x + 1]")
  NO_OUTPUT("a number too large for its format", "x + 65520h")
  NO_OUTPUT("a number too large for its format", "x + 0x1p128f")
  NO_OUTPUT("a number too large for its format", "x + 1e309d")
  NO_OUTPUT("a number with two points", "x + 1.2.3")
  NO_OUTPUT("a number with two points", "x + 1..")
  NO_OUTPUT("an exponent without digits", "x + 1e")
  NO_OUTPUT("an exponent without digits", "x + 1e-")
  NO_OUTPUT("an exponent without digits", "x + 0x1p+")
  NO_OUTPUT("an exponent beyond 4096", "x + 1e4097")
  NO_OUTPUT("an exponent beyond 4096", "x + 1e-99999999999999999999999")
  NO_OUTPUT("not a number", "x + 1z")
  NO_OUTPUT("not a number", "x + 1ff")
  NO_OUTPUT("not a number", "x + 1_")
  NO_OUTPUT("not a number", "x + 0x")
  NO_OUTPUT("not a number", "x + 0xp1")
  NO_OUTPUT("not a number", "x + 0x1e+1p1") /* 1e is of the digits, + of nothing */
  NO_OUTPUT("vectors of two lengths", "sum(y + z)")
  NO_OUTPUT("vectors of two lengths", "sum(if x > 0 then y else z)")
  NO_OUTPUT("first, last, stable, mean or hybrid is expected", "max{left}(x, 0)")
  NO_OUTPUT("first, last, stable, mean or hybrid is expected", "max{1}(x, 0)")
  NO_OUTPUT("what is 'first'", "relu{first}(x)")
  NO_OUTPUT("a proxy that is no number", "relu{x}(x)")
  NO_OUTPUT("a proxy that is no number", "relu{relu(1)}(x)")
  NO_OUTPUT("a proxy that is no number", "max{hybrid x}(x, 0)")
  NO_OUTPUT("'}' is expected, not '1'", "max{mean 1}(x, 0)")
  NO_OUTPUT("a proxy of what has no kinks", "exp{0}(x)")
  NO_OUTPUT("a proxy of what has no kinks", "sum{0}(y)")
  NO_OUTPUT("a proxy of what has no kinks", "norm2{0}(y)")
  NO_OUTPUT("a wrong number of arguments", "relu(x, x)")
  NO_OUTPUT("a wrong number of arguments", "clamp(x, 1)")
  NO_OUTPUT("a wrong number of arguments", "clamp(x, 1, 2, 3)")
  NO_OUTPUT("what is ')'", "clamp()")
    NO_OUTPUT("one argument is expected", "exp(x, x)")
  NO_OUTPUT("one argument is expected", "sqrt(x, 1)")
  NO_OUTPUT("kth(K, ...) wants 1 <= K", "kth(0, y)")
  NO_OUTPUT("kth(K, ...) wants 1 <= K", "kth(-1, y)")
  NO_OUTPUT("kth(K, ...) wants 1 <= K", "kth(3, y)")
  NO_OUTPUT("kth(K, ...) wants 1 <= K", "kth(15e-1, y)")
  NO_OUTPUT("kth(K, ...) wants 1 <= K", "kth(x, y)")
  NO_OUTPUT("dot wants two vectors of one length", "dot(y)")
  NO_OUTPUT("dot wants two vectors of one length", "dot(y, z)")
  NO_OUTPUT("dot wants two vectors of one length", "dot(y, y, y)")
  NO_OUTPUT("an entry that is not there", "y[2]")
  NO_OUTPUT("an entry that is not there", "y[3]")
  NO_OUTPUT("an entry that is not there", "y[-1]")
  NO_OUTPUT("an entry that is not there", "y[5e-1]")
  NO_OUTPUT("an entry that is not there", "y[x]")
  NO_OUTPUT("an entry that is not there", "sum(y[1:1])")
  NO_OUTPUT("an entry that is not there", "sum(y[1:0])")
  NO_OUTPUT("an entry that is not there", "sum(y[0:3])")
  NO_OUTPUT("an entry that is not there", "sum(y[-1:2])")
  NO_OUTPUT("an entry of what is no vector", "x[0]")
  NO_OUTPUT("an entry of what is no vector", "y[0][0]")
  NO_OUTPUT("what is 'then'", "if x > then x else x")
  NO_OUTPUT("a comparison is expected, not 'then'", "if x then x else x")
  NO_OUTPUT("'else' is expected", "if x > 0 then x")
  NO_OUTPUT("a comparison of vectors", "if y > x then x else x")
  NO_OUTPUT("a comparison of vectors", "if x > y then x else x")
  NO_OUTPUT("more than a statement", "x x")
  NO_OUTPUT("more than a statement", "x\nlet a = x x")
  NO_OUTPUT("a second output", "x\noutput x")
  NO_OUTPUT("what is '", "x +")
  NO_PROGRAM("a name that is taken", "input x, x\noutput x\n")
  NO_PROGRAM("a name that is taken", "input x\nlet x = 1\noutput x\n")
  NO_PROGRAM("a name that is taken", "input x\nlet relu = x\noutput x\n")
  NO_PROGRAM("a name that is taken", "input x\nlet piece = x\noutput x\n")
  NO_PROGRAM("a name that is taken", "input input\noutput 1\n")
  NO_PROGRAM("a name that is taken", "input and\noutput 1\n")
  NO_PROGRAM("a name is expected", "input 1\noutput 1\n")
  NO_PROGRAM("a name is expected", "input x\nlet (a) = x\noutput x\n")
  NO_PROGRAM("'piece' is expected", "input x\nx\noutput x\n")
  NO_PROGRAM("a program has inputs and an output", "input x\n")
  NO_PROGRAM("a program has inputs and an output", "output 1\n")
  NO_PROGRAM("what is 'x'", "output x\n")
  NO_PROGRAM("a program has inputs and an output", "")
  {2, "line 2: what is 'z'", "input x\noutput x + z\n", "in-bouligand", "at x 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
  {2, "two lengths", "input x[2], y[3]\noutput sum(x + y)\n", "in-bouligand", "at x 0 0\nat y 0 0 0\n" PLAIN, "0", "evidence ad\narc 0\n"},
};

#define N_CASES (sizeof cases / sizeof *cases)

/* Writes case i's program and proof; the proof's text and size. */
static size_t
write_case(char *text, size_t size, size_t i)
{
  char hex[65];
  size_t n;

  save("case.prog", cases[i].program, strlen(cases[i].program));
  sha256_of(hex, cases[i].program, strlen(cases[i].program));
  n = (size_t)snprintf(text, size, "clarke-proof 1\nverdict %s\nsemantics real\nprogram case.prog %s\n%stouched %s\n%s%069d",
                       cases[i].verdict, hex, cases[i].lines, cases[i].touched, cases[i].evidence, 0);
  ck_assert(n < size);
  seal(text, n);
  save("case.proof", text, n);
  return n;
}

START_TEST(hand_written)
{
  char text[4096], said[8192];
  size_t wrong = 0;

  for (size_t i = 0; i < N_CASES; i++) {
    int status;

    write_case(text, sizeof text, i);
    status = run(said, sizeof said, "case.proof");
    if (status == cases[i].status && strstr(said, cases[i].reason) != NULL
        && (strncmp(said, "VERIFIED\n", 9) == 0) == (status == 0))
      continue;
    wrong++;
    printf("case %zu: status %d, not %d, and '%s' expected: %s\n%s", i, status, cases[i].status, cases[i].reason, said, text);
  }
  ck_assert_msg(wrong == 0, "%zu cases", wrong);
}
END_TEST

/* ---- directions */

/* Proofs by hand of derivatives along directions; without: what must not be said. */
static const struct {
  int status;
  const char *reason, *without, *program, *lines;
} ways[] = {
  {0, "is 1; AD's forward mode returns 0, which is ANOTHER number.", NULL, "input x\noutput relu(x)\n",
   "at x 0\n" RELU0 "touched 1\ndirection 1\nderivative 1\n"},
  {0, "is 0; AD's forward mode returns 0, which is that number.", NULL, "input x\noutput relu(x)\n",
   "at x 0\n" RELU0 "touched 1\ndirection -1\nderivative 0\n"},
  {1, "is another number", NULL, "input x\noutput relu(x)\n", "at x 0\n" RELU0 "touched 1\ndirection 1\nderivative 0\n"},
  /* Along the line the function is x; off it it jumps. */
  {1, "cannot be told to: F may jump, and have no generalized derivative", NULL, "input x, y\noutput if y > 0 then 1 + x else x\n",
   XY0 "touched 1\ndirection 1 0\nderivative 1\n"},
  /* Forward mode divides 0 by 0 at the root of what is 0 near the point, where reverse mode's mask stops all. A root of a constant has no tangent. */
  {0, "along d1 = (1) is 0.\n", "forward mode", "input x\noutput sqrt(relu(x))\n", "at x -1\n" RELU0 "touched 0\ndirection 1\nderivative 0\n"},
  {0, "is 1; AD's forward mode returns 1, which is that number.", NULL, "input x\noutput x + sqrt(0)\n",
   "at x -1\n" PLAIN "touched 0\ndirection 1\nderivative 1\n"},
};

START_TEST(directions)
{
  char text[4096], said[8192], hex[65];
  size_t wrong = 0;

  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    int status;
    size_t n;

    save("way.prog", ways[i].program, strlen(ways[i].program));
    sha256_of(hex, ways[i].program, strlen(ways[i].program));
    n = (size_t)snprintf(text, sizeof text, "clarke-proof 1\nclaim direction\nsemantics real\nprogram way.prog %s\n%s%069d", hex, ways[i].lines, 0);
    ck_assert(n < sizeof text);
    seal(text, n);
    save("way.proof", text, n);
    status = run(said, sizeof said, "way.proof");
    if (status == ways[i].status && strstr(said, ways[i].reason) != NULL && (ways[i].without == NULL || strstr(said, ways[i].without) == NULL))
      continue;
    wrong++;
    printf("direction %zu: status %d, not %d, and '%s' expected: %s\n%s", i, status, ways[i].status, ways[i].reason, said, text);
  }
  ck_assert_msg(wrong == 0, "%zu cases", wrong);
}
END_TEST

/* ---- changed bytes */

/* What is said before the evidence: the statement. */
static void
cut_statement(char *said)
{
  char *end = strstr(said, "It is separated by");

  if (end == NULL)
    end = strstr(said, "Semantics:");
  if (end != NULL)
    *end = '\0';
}

/* A changed byte fails; with the last line made right too it may be other evidence, but then it is for
 * the same statement. The statement's own lines are changed below. */
START_TEST(changed_bytes)
{
  char text[4096], said[8192], first[8192];

  for (size_t i = 0; i < N_CASES; i++) {
    size_t n, evidence;

    if (cases[i].status != 0)
      continue;
    n = write_case(text, sizeof text, i);
    evidence = (size_t)(strstr(text, "evidence ") - text);
    ck_assert_int_eq(run(first, sizeof first, "case.proof"), 0);
    cut_statement(first);
    for (size_t at = draw(6); at < n; at += 1 + draw(12)) {
      char old = text[at];

      text[at] = (char)(old ^ (1 + draw(255)));
      save("case.proof", text, n);
      ck_assert_msg(run(said, sizeof said, "case.proof") == 1, "case %zu, byte %zu: %s", i, at, said);
      text[at] = old;
    }
    for (size_t at = evidence; at < n - 69; at++) {
      char old = text[at];
      int status;

      text[at] = draw(3) == 0 ? (char)draw(256) : "0123456789-/ \nu"[draw(15)];
      seal(text, n);
      save("case.proof", text, n);
      status = run(said, sizeof said, "case.proof");
      cut_statement(said);
      ck_assert_msg(status == 1 || (status == 0 && strcmp(said, first) == 0), "case %zu, byte %zu: %d %s", i, at, status, said);
      text[at] = old;
    }
  }
}
END_TEST

/* A changed program, whose hash the proof does not have, or has. */
START_TEST(changed_programs)
{
  char text[4096], said[8192], program[1024], old[65], hex[65];

  for (size_t i = 0; i < N_CASES; i++) {
    size_t n, size = strlen(cases[i].program);

    if (cases[i].status != 0)
      continue;
    n = write_case(text, sizeof text, i);
    strcpy(program, cases[i].program);
    sha256_of(old, program, size);
    for (size_t at = 0; at < size; at += 1 + draw(3)) {
      char before = program[at];
      int status;

      do
        program[at] = draw(2) == 0 ? (char)draw(256) : "0123456789-/ \n(){}[],+*.xywt<>=!#f"[draw(35)];
      while (program[at] == before);
      save("case.prog", program, size);
      status = run(said, sizeof said, "case.proof");
      ck_assert_msg(status == 1 && strstr(said, "hash") != NULL, "case %zu, byte %zu: %s", i, at, said);
      sha256_of(hex, program, size);
      memcpy(strstr(text, old), hex, 64);
      seal(text, n);
      save("case.proof", text, n);
      status = run(said, sizeof said, "case.proof");
      ck_assert_msg(status <= 2 && strstr(said, "memory") == NULL, "case %zu, byte %zu: %s", i, at, said);
      memcpy(strstr(text, hex), old, 64);
      seal(text, n);
      save("case.proof", text, n);
      program[at] = before;
    }
  }
}
END_TEST

/* ---- random programs */

typedef struct {
  char text[4096];
  size_t n;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
put(writer *w, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  w->n += (size_t)vsnprintf(w->text + w->n, sizeof w->text - w->n, format, list);
  va_end(list);
  ck_assert(w->n < sizeof w->text);
}

/* A scalar made earlier: an input's entry or a let. */
static void
put_scalar(writer *w, unsigned lets)
{
  unsigned k = draw(lets + 3);

  if (k < 2)
    put(w, "x[%u]", k);
  else if (k == 2)
    put(w, "z");
  else
    put(w, "a%u", k - 3);
}

static void
put_scalars(writer *w, unsigned lets, unsigned n)
{
  for (unsigned k = 0; k < n; k++) {
    put(w, k > 0 ? ", " : "");
    put_scalar(w, lets);
  }
}

static const char *const pointwise[] = {"relu", "relu{1}", "relu{1/2}", "relu{right}", "leaky_relu", "abs", "abs{1}", "relu6",
                                        "hardtanh", "relu6{right}", "hardswish", "hardsigmoid", "elu", "exp", "sin", "cos",
                                        "tanh", "sigmoid", "erf", "atan", "norm1"};
static const char *const several[] = {"max", "min", "maxpool", "median", "max{last}", "max{hybrid 2}", "min{first}", "norminf",
                                      "norm1", "sum", "mean", "norm2"};
static const char *const relations[] = {"<", "<=", ">", ">=", "==", "!="};

/* smooth: with functions whose values are not rational. */
static void
put_expression(writer *w, unsigned lets, bool smooth)
{
  switch (draw(10)) {
  case 0:
  case 1:
  case 2: {
    unsigned f = draw(smooth ? 21 : 11);

    put(w, "%s(", pointwise[f]);
    put_scalar(w, lets);
    put(w, draw(3) == 0 ? " - " : ")");
    if (w->text[w->n - 1] == ' ') {
      put_scalar(w, lets);
      put(w, ")");
    }
    break;
  }
  case 3:
  case 4:
    put(w, "%s(", several[draw(smooth ? 12 : 11)]);
    put_scalars(w, lets, 1 + draw(4));
    put(w, ")");
    break;
  case 5:
    put(w, "kth(%u, ", 1 + draw(3));
    put_scalars(w, lets, 3);
    put(w, ")%s", draw(2) == 0 ? " + z" : "");
    break;
  case 6:
    put(w, "if ");
    put_scalar(w, lets);
    put(w, " %s ", relations[draw(6)]);
    if (draw(2) == 0)
      put(w, "0");
    else
      put_scalar(w, lets);
    put(w, " then ");
    put_scalar(w, lets);
    put(w, " else ");
    put_scalar(w, lets);
    break;
  case 7:
    put_scalar(w, lets);
    put(w, "*");
    put_scalar(w, lets);
    break;
  default:
    put(w, "%d*", (int)draw(7) - 3 == 0 ? 1 : 2);
    put_scalar(w, lets);
    put(w, draw(2) == 0 ? " + " : " - ");
    put_scalar(w, lets);
    if (draw(4) == 0)
      put(w, "/(2 + z*z)");
    break;
  }
}

static void
put_program(writer *w, bool smooth)
{
  unsigned lets = 2 + draw(7);

  w->n = 0;
  put(w, "input x[2], z\n");
  for (unsigned k = 0; k < lets; k++) {
    put(w, "let a%u = ", k);
    put_expression(w, k, smooth);
    put(w, "\n");
  }
  put(w, "output ");
  put_scalars(w, lets, draw(8) == 0 ? 2 : 1);
  put(w, " + a%u - sort(x[0], z, a0)[%u]\n", lets - 1, draw(3));
}

typedef struct {
  unsigned programs, errors, undecided, verified, cancelled, verdict[4], evidence[CLARKE_EVIDENCE_UNANIMOUS + 1], flipped;
} tally;

/* The other verdicts must not be provable by this evidence. */
static void
flip(tally *t, const char *program)
{
  static const char *const names[] = {"in-bouligand", "in-clarke", "not-in-clarke"};
  char text[1 << 16], other[1 << 16], said[8192];
  size_t n = load(text, sizeof text, "random.proof");
  char *word = strstr(text, "verdict ") + 8;
  size_t length = strcspn(word, "\n");

  for (size_t k = 0; k < 3; k++) {
    int m, status;

    if (strncmp(word, names[k], length) == 0 && strlen(names[k]) == length)
      continue;
    m = snprintf(other, sizeof other, "%.*s%s%s", (int)(word - text), text, names[k], word + length);
    seal(other, (size_t)m);
    save("flipped.proof", other, (size_t)m);
    status = run(said, sizeof said, "flipped.proof");
    /* In the Bouligand set by a hull of one is in the Clarke set too. */
    ck_assert_msg(status == 1 || (k == 1 && *word == 'i'), "%s\n%s%s", said, program, other);
    t->flipped++;
  }
  ck_assert(n > 0);
}

static void
try_program(tally *t, const writer *w, mpq_t *at, const clarke_profile *profile)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_code p;
  clarke_derivation d;
  char hex[65], path[256], said[1 << 14];
  clarke_status status;

  clarke_code_init(&p);
  clarke_derivation_init(&d);
  status = clarke_prog_parse(&p, w->text, w->n, "random.prog", &err);
  ck_assert_msg(status == CLARKE_OK, "%s", err.text);
  status = clarke_code_wrt(&p, NULL, 0, &err);
  if (status == CLARKE_OK)
    status = clarke_derive(&d, &p, at, profile, &err);
  t->programs++;
  t->errors += status != CLARKE_OK;
  snprintf(path, sizeof path, "%s/random.proof", folder);
  if (status == CLARKE_OK) {
    t->verdict[d.verdict]++;
    t->evidence[d.evidence]++;
    sha256_of(hex, w->text, w->n);
    save("random.prog", w->text, w->n);
    status = clarke_proof_write_program(path, "random.prog", hex, &d, NULL, &err);
    ck_assert_msg((status == CLARKE_OK) == (d.verdict != CLARKE_UNDECIDED), "%s: %s", w->text, err.text);
    t->undecided += status != CLARKE_OK;
    if (status == CLARKE_OK) {
      int got = run(said, sizeof said, "random.proof");

      /* The checker goes forward: it does not see that paths from an unknown proxy cancel. */
      bool cancelled = got == 1 && strstr(said, "proxy that is unknown") != NULL;

      t->verified += got == 0;
      t->cancelled += cancelled;
      ck_assert_msg(got == 0 || cancelled, "%s\n%s", said, w->text);
      if (got == 0 && draw(8) == 0)
        flip(t, w->text);
    }
  }
  clarke_derivation_clear(&d);
  clarke_code_clear(&p);
}

static void
try_drawn(tally *t, const writer *w, const clarke_profile *profile)
{
  mpq_t at[3];

  for (int k = 0; k < 3; k++) {
    mpq_init(at[k]);
    if (draw(4) == 0)
      mpq_set_si(at[k], (long)draw(5) - 2, 1 + draw(2)), mpq_canonicalize(at[k]);
  }
  try_program(t, w, at, profile);
  for (int k = 0; k < 3; k++)
    mpq_clear(at[k]);
}

/* An argument of relu that is x times a positive number near x = 0, y = 1. Its decision loses a sum's one argument beside
 * numbers that add up to 0, and factors: writer and checker must see the same ones, or what refutes a branch does not add up. */
static const char *const arguments[] = {
  "2*x", "x + x", "mean(x, x)", "mean(4*x, x)", "mean(2*x)", "mean(x, 0)", "mean(2*x, 0)", "mean(3*(2*x + 0), 0)", "sum(2*x, 0)",
  "sum(0, 2*x)", "sum(2*x, 1, -1)", "mean(2*x, 1, -1)", "sum(2*x, 1 - 1)", "sum(2*x, 0*3)", "sum(2*x, relu(0))", "sum(2*x, 0*y)",
  "0*y + 2*x", "sum(2*x, sum(1, -1))", "sum(2*x, dot([1, 2], [2, -1]))", "mean(2*x, mean(0, 0))", "dot([2*x, 3], [1, 0])",
  "dot([2*x, 3], [1, 1 - 1])", "dot([2*x, y], [1, 0])", "dot([x, 7], [y + 1, 0])", "sum([2*x, 3]*[1, 0])",
  "sum([2*x, 3]/[1, 3], -1)", "mean(mean(x, x)*y, 0)", "mean(2*x/y, 0)", "median(mean(2*x, 0), 5, -5)", "sum(-2*(0 - x), 0)",
  "clamp(2*x, mean(-5, -4), 5)", "if y > 0 then mean(2*x, 0) else x", "2*x + 1 - 1", "-(-(2*x))"};

START_TEST(decisions_of_sums)
{
  const size_t n = sizeof arguments / sizeof *arguments;
  tally t = {0};
  clarke_error err = {CLARKE_OK, ""};
  clarke_profile profile;
  mpq_t at[2];

  clarke_profile_init(&profile);
  ck_assert_int_eq(clarke_profile_load(&profile, "pytorch-2.13", &err), CLARKE_OK);
  mpq_inits(at[0], at[1], NULL);
  mpq_set_si(at[1], 1, 1);
  for (size_t i = 0; i < n; i++) {
    writer w = {.n = 0};

    put(&w, "input x, y\nlet t = %s\noutput relu{1}(t) - 1/9*relu{0}(x)\n", arguments[i]);
    try_program(&t, &w, at, &profile);
  }
  ck_assert_uint_eq(t.verified, n);
  ck_assert_uint_eq(t.evidence[CLARKE_EVIDENCE_SEPARATOR], n);
  mpq_clears(at[0], at[1], NULL);
  clarke_profile_clear(&profile);
}
END_TEST

static int n_random = 300;

START_TEST(written_by_the_library)
{
  static const char *const profiles[] = {"pytorch-2.13", "pytorch-2.14", "jax-0.10", "tensorflow-2"};
  tally t = {0};
  clarke_error err = {CLARKE_OK, ""};

  state = seed; /* whatever ran before */
  for (int i = 0; i < n_random; i++) {
    clarke_profile profile;
    writer w;

    clarke_profile_init(&profile);
    ck_assert_int_eq(clarke_profile_load(&profile, profiles[i % 5 < 3 ? 0 : i % 5 - 2], &err), CLARKE_OK);
    put_program(&w, i % 3 == 2);
    try_drawn(&t, &w, &profile);
    clarke_profile_clear(&profile);
  }
  printf("%u programs: %u errors, %u undecided, %u verified, %u cancelled; verdicts %u %u %u %u; evidence %u %u %u %u %u %u; %u flipped\n",
         t.programs, t.errors, t.undecided, t.verified, t.cancelled, t.verdict[0], t.verdict[1], t.verdict[2], t.verdict[3],
         t.evidence[0], t.evidence[1], t.evidence[2], t.evidence[3], t.evidence[4], t.evidence[CLARKE_EVIDENCE_UNANIMOUS], t.flipped);
  ck_assert_uint_eq(t.verified + t.cancelled + t.undecided + t.errors, t.programs);
  ck_assert_uint_ge(4 * t.verified, 3 * t.programs);
  ck_assert_uint_le(50 * t.cancelled, t.programs);
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_ge(20 * t.verdict[v], t.programs);
  ck_assert_uint_ge(4 * t.evidence[CLARKE_EVIDENCE_AD], t.programs);
  ck_assert_uint_ge(20 * t.evidence[CLARKE_EVIDENCE_HULL], t.programs);
  ck_assert_uint_ge(20 * t.evidence[CLARKE_EVIDENCE_SEPARATOR], t.programs);
  ck_assert_uint_ge(200 * t.evidence[CLARKE_EVIDENCE_UNANIMOUS], t.programs);
  ck_assert_uint_ge(10 * t.flipped, t.programs);
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *t = tests_of("check programs");

  if (mkdtemp(folder) == NULL)
    return EXIT_FAILURE;
  if (argc > 2) { /* PROGRAMS SEED: what is drawn */
    n_random = atoi(argv[1]);
    seed = strtoul(argv[2], NULL, 10);
    tcase_add_test(t, changed_bytes);
    tcase_add_test(t, changed_programs);
    tcase_add_test(t, written_by_the_library);
  } else {
    tcase_add_test(t, hand_written);
    tcase_add_test(t, directions);
    tcase_add_test(t, decisions_of_sums);
  }
  return run_tests();
}
