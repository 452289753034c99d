// SPDX-License-Identifier: MIT
#ifndef OURO_BLOCKS_H
#define OURO_BLOCKS_H

#include "internal.h"

const char *ouro__text_add(ouro_profile *profile, const char *text);
const ouro_block_info *ouro__block_at(const ouro_profile *profile, ouro_block block);
uint32_t ouro__sites_of_block(const ouro_profile *profile, ouro_block block,
                              const ouro_site_info **infos);
uint32_t ouro__block_count(const ouro_profile *profile);
uint64_t ouro__blocks_bytes(const ouro_profile *profile);
void ouro__blocks_free(ouro_profile *profile);

#endif
