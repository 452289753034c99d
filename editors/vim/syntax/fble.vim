" SPDX-License-Identifier: MIT
" Fble: colours. What can be told without types: types, modules, definitions, tags, literals, quoted words.
if exists('b:current_syntax')
  finish
endif
let s:keep = &cpoptions
set cpoptions&vim

syntax iskeyword @,48-57,_,128-255,34,92,96
syntax sync minlines=200

" What no program contains, unless quoted.
syntax match fbleError "[-!$~&^]"

syntax match fbleOperator "[*+](\@="
syntax match fbleOperator "\.[?@%](\@="
syntax match fbleOperator "\.=\|:=\|="
syntax match fbleKind "@"

syntax match fbleDefinition "\k\+\ze\_s*="
syntax match fbleTag "\k\+\ze\s*:=\@!"
syntax match fbleType "\k\+@"
syntax match fbleModule "@\=\s*\%(/\s*\%(\k\+\|'\%([^']\|''\)*'\)\s*\)\+%"

" Two quotes inside stand for one. A quoted word may go on over lines.
syntax region fbleQuoted start=+'+ skip=+''+ end=+'+
syntax region fbleLiteral start=+\%(|\s*\)\@<='+ skip=+''+ end=+'+
syntax match fbleLiteral "\%(|\s*\)\@<=\k\+"

syntax keyword fbleTodo TODO FIXME XXX contained
syntax match fbleComment "#.*$" contains=fbleTodo,@Spell

highlight default link fbleError Error
highlight default link fbleOperator Operator
highlight default link fbleKind Special
highlight default link fbleDefinition Function
highlight default link fbleTag Label
highlight default link fbleType Type
highlight default link fbleModule Include
highlight default link fbleQuoted Identifier
highlight default link fbleLiteral String
highlight default link fbleTodo Todo
highlight default link fbleComment Comment

let b:current_syntax = 'fble'
let &cpoptions = s:keep
unlet s:keep
