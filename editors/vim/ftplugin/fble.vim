" SPDX-License-Identifier: MIT
" Fble: words, comments, blanks, and :make, which checks the file.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
let s:keep = &cpoptions
set cpoptions&vim

" Everything that is neither blank nor punctuation is part of a word.
setlocal iskeyword=@,48-57,_,128-255,34,92,96
setlocal comments=:# commentstring=#\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.fble

" As `:compiler` does: g:fble_options replaces `-p std`.
let &l:makeprg = 'fble check ' .. get(g:, 'fble_options', '-p std') .. ' %:S'
setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%-G%.%#

let b:undo_ftplugin = 'setlocal iskeyword< comments< commentstring< formatoptions< expandtab< shiftwidth< softtabstop<'
      \ .. ' suffixesadd< makeprg< errorformat<'
let &cpoptions = s:keep
unlet s:keep
