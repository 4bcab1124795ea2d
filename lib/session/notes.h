/* What a file alone cannot tell of the program that it came from, where it could matter: an exporter's names, shared
 * parameters, weights that are Constant nodes, a Clip that may have been a clamp, a loss by default. Of a recorded step only
 * where its program took branches. */
#ifndef CLARKE_SESSION_NOTES_H
#define CLARKE_SESSION_NOTES_H

#include "session/audit.h"

/* Fills the notes of an answered session, s->notes: sentences without their ends. */
clarke_status clarke_audit_notes(clarke_audit_session *s, clarke_error *err);
clarke_status clarke_audit_note_branches(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);

#endif
