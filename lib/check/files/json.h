/* JSON: objects whose keys have no escapes, texts, lists are read; all else is JSON, too. */
#ifndef CLARKE_KERNEL_JSON_H
#define CLARKE_KERNEL_JSON_H

#include "check/base/bytes.h"
#include "check/base/name_index.h"

bool json_token(bytes *h, const char *text); /* is it next, with blanks around it? Then it is passed over */
void json_over(bytes *h, const char *text);  /* which must be next */
/* The next key of an object; NULL where it ends. Keys are put into the index, in which it may not be. */
char *json_key(bytes *h, name_index *keys);
/* A value of any kind, and blanks around it: its bytes. It must be JSON; in its objects no key may be there twice. */
bytes json_value(bytes *h);
/* What such bytes hold: the value of an object's key, which must be there, or of size 0 if it is not; what a text says; the next value of a
 * list, or of what was left of one, until there is none. */
bytes json_member(bytes object, const char *name);
bytes json_find(bytes object, const char *name);
char *json_text(bytes value);
bool json_item(bytes *list, bytes *item);

#endif
