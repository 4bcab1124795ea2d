/* A checkpoint being read: what the files of its reader share. */
#ifndef CLARKE_FORMAT_PT_INSIDE_H
#define CLARKE_FORMAT_PT_INSIDE_H

#include "format/archive.h"
#include "format/extent.h"
#include "format/pickle.h"
#include "format/tensors.h"

/* What a file has under a name: a member of the archive, or, of a file without one, bytes of its own. */
typedef struct {
  char *name; /* the folder left out */
  size_t index, size; /* index: without an archive the first byte */
} clarke_pt_member;

/* A tensor to be read. */
typedef struct {
  const char *name, *key; /* not terminated */
  size_t name_size, key_size;
  const clarke_pickle_value *storage;
  const clarke_pt_member *member; /* the storage's */
  clarke_pickle_view view;
  clarke_extent extent;
} clarke_pt_entry;

typedef struct {
  clarke_archive archive;
  const char *key; /* the state dict's in the dictionary; NULL: one of the usual */
  const unsigned char *raw; /* of a file without an archive its bytes, or NULL */
  char *folder; /* with its slash; empty without an archive */
  size_t n_members;
  clarke_pt_member *members; /* by name */
  bool big_endian;
  unsigned char *pickled;
  clarke_pickle pickle;
  size_t n;
  clarke_pt_entry *entries;
  size_t n_names; /* names that are not in the pickle as they are: those of a module's tensors */
  char **names;
} clarke_pt;

/* A tensor's name for a message: what of it is text, in part when it is long. */
typedef struct {
  char text[204];
} clarke_pt_shown;

/* The member of that name, the folder left out; NULL when there is none. */
const clarke_pt_member *clarke_pt_find(const clarke_pt *c, char *name);
/* All bytes of a member: m->size of them. */
clarke_status clarke_pt_bytes(void *to, const clarke_pt *c, const clarke_pt_member *m, clarke_error *err);
clarke_pt_shown clarke_pt_show(const clarke_pt_entry *e);
/* The order of storages, and of tensors in one: for qsort. */
int clarke_pt_by_storage(const void *a, const void *b);

/* All of an entry but its name: what the pickle has of that tensor. */
void clarke_pt_entry_of(clarke_pt_entry *e, const clarke_pt *c, uint32_t tensor);
/* pt_script.c. The entries of a module that torch.jit.save wrote: its tensors, by the names that its state_dict() has. */
clarke_status clarke_pt_read_module(clarke_pt *c, clarke_error *err);

/* Sorts the members, for clarke_pt_find. */
void clarke_pt_sort(clarke_pt *c);

/* pt_legacy.c. Does the file begin as those do? */
bool clarke_pt_is_legacy(const void *data, size_t size);
/* Its pickle and members, as if they lay in an archive. */
clarke_status clarke_pt_read_legacy(clarke_pt *c, const void *data, size_t size, clarke_error *err);

/* pt_tensors.c. Is every tensor a view inside its storage, and do views agree about theirs? */
clarke_status clarke_pt_check_entries(clarke_pt *c, clarke_error *err);
/* Storage by storage, each read once and dropped before the next. */
clarke_status clarke_pt_decode_entries(clarke_tensors *ts, const clarke_pt *c, clarke_error *err);

#endif
