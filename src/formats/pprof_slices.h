// SPDX-License-Identifier: MIT

#ifndef OURO_PPROF_SLICES_H
#define OURO_PPROF_SLICES_H

#include "sliced.h"
#include "wire.h"

// Reads what is kept of the slices of a lane (slices_message.c writes it) and adds it to p->slices.
// `metric_count`, `own`: the program's metrics, and the first of them in the profile. false with
// the error of `in` filled.
// The program's metrics in such a message, which tells what every slice has; 0: it does not.
uint32_t ouro__pprof_slices_metrics(wire in);
bool ouro__pprof_slices_read(profile *p, uint32_t metric_count, uint32_t own, wire in);

#endif
