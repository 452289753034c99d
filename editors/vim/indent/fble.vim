" SPDX-License-Identifier: MIT
" Fble: one level more than the line that opens the innermost bracket around a line. What goes on without a bracket, as the
" names of an import or what follows a `=` at the end of a line, has one level more, too.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=GetFbleIndent(v:lnum)
setlocal indentkeys=0{,0},0),0],!^F,o,O
setlocal nolisp nosmartindent autoindent
let b:undo_indent = 'setlocal indentexpr< indentkeys< lisp< smartindent< autoindent<'

if exists('*GetFbleIndent')
  finish
endif
let s:keep = &cpoptions
set cpoptions&vim

" What lines leave behind, by their text: whether it ends within quotes, and the brackets without a partner.
let s:known = {}

function! s:Look(text, quoted) abort
  let l:text = a:text
  if a:quoted
    if l:text !~# "^\\%([^']\\|''\\)*'\\%([^']\\|$\\)"
      return [1, '']
    endif
    let l:text = substitute(l:text, "^\\%([^']\\|''\\)*'", '', '')
  endif
  let l:text = substitute(l:text, "'\\%([^']\\|''\\)*'\\|#.*", '', 'g')
  let l:quoted = l:text =~# "'"
  let l:text = substitute(substitute(l:text, "'.*", '', ''), '[^][(){}]', '', 'g')
  while l:text =~# '()\|\[\]\|{}'
    let l:text = substitute(l:text, '()\|\[\]\|{}', '', 'g')
  endwhile
  return [l:quoted, l:text]
endfunction

function! s:Scan(text, quoted) abort
  let l:key = a:quoted .. a:text
  if !has_key(s:known, l:key)
    if len(s:known) > 20000
      let s:known = {}
    endif
    let s:known[l:key] = s:Look(a:text, a:quoted)
  endif
  return s:known[l:key]
endfunction

" The last line before this one that has code; 0 if there is none.
function! s:CodeBefore(lnum) abort
  let l:at = prevnonblank(a:lnum - 1)
  while l:at > 0 && getline(l:at) =~# '^\s*#'
    let l:at = prevnonblank(l:at - 1)
  endwhile
  return l:at
endfunction

function! s:EndsWith(lnum, what) abort
  return a:lnum > 0 && getline(a:lnum) =~# a:what .. '\s*\%(#.*\)\=$'
endfunction

" Of the statement that a line belongs to, if that began in the line before.
function! s:IndentOf(lnum) abort
  let l:before = s:CodeBefore(a:lnum)
  return indent(s:EndsWith(l:before, '[^.:]=') ? l:before : a:lnum)
endfunction

function! GetFbleIndent(lnum) abort
  let l:open = []
  let l:quoted = 0
  for l:line in range(1, a:lnum - 1)
    let [l:quoted, l:brackets] = s:Scan(trim(getline(l:line), " \t", 1), l:quoted)
    for l:bracket in split(l:brackets, '\zs')
      if stridx('({[', l:bracket) >= 0
        call add(l:open, [l:line, l:bracket])
      elseif !empty(l:open)
        call remove(l:open, -1)
      endif
    endfor
  endfor
  if l:quoted
    return -1 " the blanks of a quoted word count
  endif
  let [l:around, l:bracket] = empty(l:open) ? [0, '{'] : l:open[-1]
  let l:indent = l:around ? s:IndentOf(l:around) : 0
  if getline(a:lnum) =~# '^\s*[)}\]]'
    return l:indent
  endif
  let l:before = s:CodeBefore(a:lnum)
  let l:goes_on = s:EndsWith(l:before, '[^}],') || s:EndsWith(l:before, '=')
  return l:indent + shiftwidth() * ((l:around > 0) + (l:bracket ==# '{' && l:before >= l:around && l:goes_on))
endfunction

let &cpoptions = s:keep
unlet s:keep
