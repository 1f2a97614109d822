/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/signals.h -- clear, confirm and fences in the memory of one process: hooks of a transport
 * among ranks that all live in it (capture/executor.h). They load no link. */
#ifndef CAPTURE_SIGNALS_H
#define CAPTURE_SIGNALS_H

#include "job.h"

typedef struct cap_signals cap_signals;

/* CS_ENOMEM only. The caller owns them; free() takes NULL. */
cs_status cap_signals_new(const cap_job *job, cap_signals **signals_p, cs_error *err);
void      cap_signals_free(cap_signals *signals);

/* Before every repetition. */
void cap_signals_reset(cap_signals *signals);

/* The hooks. Those that wait return CS_EIO once abort() was called. */
void      cap_signals_clear(cap_signals *signals, const cap_message *message);
void      cap_signals_confirm(cap_signals *signals, const cap_message *message);
cs_status cap_signals_await_clear(cap_signals *signals, const cap_message *message, cs_error *err);
cs_status cap_signals_await_confirm(cap_signals *signals, const cap_message *message,
                                    cs_error *err);
cs_status cap_signals_fence(cap_signals *signals, uint32_t fence, uint32_t except, cs_error *err);
void      cap_signals_abort(cap_signals *signals);

#endif
