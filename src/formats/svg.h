// SPDX-License-Identifier: MIT
//
// The flame graph as an SVG element, also inside the report.

#ifndef OURO_SVG_H
#define OURO_SVG_H

#include "format.h"

bool ouro__svg_put(const profile *p, const write_options *options, output *out);

#endif
