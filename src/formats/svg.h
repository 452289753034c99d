// SPDX-License-Identifier: MIT
//
// The flame graph as an SVG element, also inside the HTML report.

#ifndef OURO_SVG_H
#define OURO_SVG_H

#include "output.h"
#include "profile.h"

bool ouro__svg_put(const profile *p, uint32_t m, const char *title, double share, output *out);

#endif
