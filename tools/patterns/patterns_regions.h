/* clarke patterns MODEL: its regions in a box, around a point, along a segment. */
#ifndef CLARKE_TOOLS_PATTERNS_REGIONS_H
#define CLARKE_TOOLS_PATTERNS_REGIONS_H

#include "region/regions.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const char *model;
  const char *at, *box, *from, *to; /* a point; a box's file; the ends of a segment */
  const char *wrt;                  /* of a point, or a box around which the rest stays at a point: what varies, as of clarke_region_function; NULL: the inputs */
  const char *output;               /* of a network the one that is asked about; NULL: it has one */
  const char *profile;              /* of a segment: AD's numbers at kinks */
  const char *grid;                 /* of a segment, or a box of two entries: the float format whose numbers in zones are counted; or NULL */
  const char *svg;                  /* of a box: the picture's path */
  const char *proof;                /* the proof's path */
  bool slice;                       /* of a box: entries with equal bounds are held fixed */
  bool pieces;                      /* maximal affine pieces are counted, too; with `count` they are the number */
  bool count, json;
  bool as_found;                    /* rows come as they are found, before what is said of them */
  size_t threads;
} clarke_regions_command;

/* Each prints its answer. *complete: it holds all regions; else it says why not. */
clarke_status clarke_regions_answer(bool *complete, const clarke_regions_command *c, clarke_error *err);
/* *holds: the integral is the difference of the values. */
clarke_status clarke_segment_answer(bool *complete, bool *holds, const clarke_regions_command *c, clarke_error *err);

/* May more be found, by --limit? */
bool clarke_patterns_below_limit(size_t found);
/* Why an answer is not complete: a system was undecided, work was told to stop, or else the limit. */
const char *clarke_patterns_why(bool undecided, bool stopped);
const char *clarke_regions_why(const clarke_regions *r);

#endif
