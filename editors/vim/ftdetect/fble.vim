" SPDX-License-Identifier: MIT
" Fble: modules and their headers.
autocmd BufRead,BufNewFile *.fble,*.fble.@ setfiletype fble
