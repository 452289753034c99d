// SPDX-License-Identifier: MIT
//
// Colours of source text: comments, strings, numbers and keywords, by the extension of the file. A
// generic tokenizer with a table of languages: it knows what a reader sees at a glance, and no
// grammar. What it does not know stays plain.

/**
 * @typedef {""|"comment"|"string"|"number"|"keyword"} Kind
 * @typedef {[string, Kind]} Token
 * @typedef {{line: string[], block: [string, string][], quotes: string[], long: [string, string][],
 *   char: boolean, words: Set<string>, folded: boolean}} Language line: what begins a comment up to
 *   the end of the line; block: ends of comments; quotes: of strings in a line; long: ends of strings
 *   over several lines; char: 'x' is a string, but 'x is not; folded: keywords in any case
 */

const MOST = 2000; // letters of a line that are looked at

/** @param {string} text */
const words = text => new Set(text.split(" "));

const C = words(
  "auto break case char const continue default do double else enum extern float for goto if " +
    "inline int long register restrict return short signed sizeof static struct switch typedef " +
    "union unsigned void volatile while bool true false NULL nullptr class namespace template " +
    "typename public private protected virtual override final new delete this throw try catch " +
    "using operator friend constexpr consteval concept requires noexcept co_await co_return " +
    "co_yield export import module explicit mutable",
);
const JAVA = words(
  "abstract as async await base boolean break byte case catch char checked class companion " +
    "const constructor continue data def default delegate do double else enum event explicit " +
    "extends extension extern false final finally fixed float for foreach fun func function given " +
    "goto guard if implements implicit import in init inline inner instanceof int interface " +
    "internal is lazy let lock long match mixin module mut namespace native new nil null object " +
    "open operator out override package params private protected protocol public readonly record " +
    "ref repeat return sealed self short static string struct super suspend switch synchronized " +
    "template this throw throws trait transient true try typealias typeof unsafe using val var " +
    "virtual void volatile when where while with yield",
);
const JS = words(
  "abstract any as async await boolean break case catch class const constructor continue " +
    "debugger declare default delete do else enum export extends false finally for from function " +
    "get if implements import in infer instanceof interface is keyof let namespace new null " +
    "number of private protected public readonly return set static string super switch this throw " +
    "true try type typeof undefined unknown var void while with yield",
);
const GO = words(
  "break case chan const continue default defer else fallthrough false for func go goto if " +
    "import interface map nil package range return select struct switch true type var",
);
const RUST = words(
  "as async await break const continue crate dyn else enum extern false fn for if impl in let " +
    "loop match mod move mut pub ref return self Self static struct super trait true type unsafe " +
    "use where while comptime defer errdefer inline null orelse try undefined union " +
    "usingnamespace var",
);
const PYTHON = words(
  "and as assert async await break case class continue def del elif else except False finally " +
    "for from global if import in is lambda match None nonlocal not or pass raise return True try " +
    "while with yield cdef cpdef",
);
const RUBY = words(
  "alias and begin BEGIN break case class def defined do else elsif end END ensure false for if " +
    "in module next nil not or redo rescue retry return self super then true undef unless until " +
    "when while yield fn defmodule defp use require",
);
const LUA = words(
  "and break do else elseif end false for function goto if in local nil not or repeat return " +
    "then true until while",
);
const SHELL = words(
  "case do done elif else esac export fi for function if in local readonly return select set " +
    "shift then trap unset until while my our sub use package foreach last next proc",
);
const SQL = words(
  "add all alter and as asc between by case check column create cross default delete desc " +
    "distinct drop else end exists false foreign from full group having if in index inner insert " +
    "into is join key left like limit not null offset on or order outer primary references right " +
    "select set table then true union unique update values view when where with begin procedure " +
    "function program subroutine module use implicit none integer real call return do contains",
);
const ML = words(
  "and as begin case class constraint data deriving do done downto else end exception external " +
    "false family for forall foreign fun function functor hiding if import in include infix " +
    "infixl infixr inherit initializer instance lazy let match method module mutable new newtype " +
    "nonrec object of open or private qualified rec sig struct then to true try type val virtual " +
    "when where while with",
);
const LISP = words(
  "and begin case cond def defmacro define defn defun defvar do else fn if in lambda let letrec " +
    "loop macro module ns nil or progn quote recur require set setf unless when",
);

/** @param {Partial<Language>} of @returns {Language} */
const language = of => ({
  line: [],
  block: [],
  quotes: ['"'],
  long: [],
  char: false,
  words: new Set(),
  folded: false,
  ...of,
});
const curly = {line: ["//"], block: /** @type {[string, string][]} */ ([["/*", "*/"]])};

/** @type {[string, Language][]} extensions, and the language that they stand for */
const TABLE = [
  [
    "c h cc cpp cxx c++ hh hpp hxx h++ inl ipp tcc tpp cu cuh m mm ino glsl hlsl metal wgsl ispc hip",
    language({...curly, char: true, words: C}),
  ],
  [
    "java kt kts scala groovy cs swift dart d vala hx gd sol php phtml",
    language({...curly, quotes: ['"', "'"], long: [['"""', '"""']], words: JAVA}),
  ],
  [
    "js mjs cjs jsx ts tsx coffee vue svelte",
    language({...curly, quotes: ['"', "'"], long: [["`", "`"]], words: JS}),
  ],
  ["go", language({...curly, char: true, long: [["`", "`"]], words: GO})],
  ["rs zig odin v", language({...curly, char: true, words: RUST})],
  [
    "py pyi pyx pxd sage nim",
    language({
      line: ["#"],
      quotes: ['"', "'"],
      long: [
        ['"""', '"""'],
        ["'''", "'''"],
      ],
      words: PYTHON,
    }),
  ],
  ["rb rake erb cr ex exs jl r", language({line: ["#"], quotes: ['"', "'"], words: RUBY})],
  [
    "lua luau moon wren",
    language({
      line: ["--"],
      block: [["--[[", "]]"]],
      quotes: ['"', "'"],
      long: [["[[", "]]"]],
      words: LUA,
    }),
  ],
  [
    "sh bash zsh fish awk pl pm raku tcl ps1 nix",
    language({line: ["#"], quotes: ['"', "'"], words: SHELL}),
  ],
  [
    "sql f f90 f95 f03 f08 ada adb ads vhd vhdl pas vb bas",
    language({
      line: ["--", "!"],
      block: [["/*", "*/"]],
      quotes: ["'", '"'],
      words: SQL,
      folded: true,
    }),
  ],
  [
    "hs lhs elm purs idr agda lean",
    language({line: ["--"], block: [["{-", "-}"]], char: true, words: ML}),
  ],
  ["ml mli fs fsi fsx sml re rei", language({block: [["(*", "*)"]], char: true, words: ML})],
  [
    "clj cljs cljc el lisp lsp cl scm ss rkt fnl asm s nasm ll",
    language({line: [";"], words: LISP}),
  ],
  ["erl hrl", language({line: ["%"], char: true, words: ML})],
  ["fble", language({line: ["#"], quotes: ['"', "'"]})],
];

/** @param {string} file @returns {Language|null} */
export function languageOf(file) {
  const found = file.match(/\.([\w+]+)$/);
  const extension = found ? found[1].toLowerCase() : "";
  return TABLE.find(([list]) => list.split(" ").includes(extension))?.[1] ?? null;
}

/** @param {string} text */
const escaped = text => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

/** One pattern that finds the next thing of interest. @param {Language} of */
function patternOf(of) {
  const parts = [
    ...[...of.block, ...of.long].map(([open]) => escaped(open)),
    ...of.line.map(open => escaped(open) + ".*"),
    ...of.quotes.map(quote => `${quote}(?:[^${quote}\\\\]|\\\\.)*(?:${quote}|$)`),
    ...(of.char ? ["'(?:[^'\\\\]|\\\\.[^']{0,8})'"] : []),
    "\\b\\d[\\w.]*",
    "[A-Za-z_$][\\w$]*",
  ];
  return new RegExp(parts.join("|"), "g");
}

/** @param {Language} of @param {string} text @returns {Kind} */
function kindOf(of, text) {
  if (of.line.some(open => text.startsWith(open))) return "comment";
  if (of.quotes.includes(text[0]) || (of.char && text[0] === "'")) return "string";
  if (/^\d/.test(text)) return "number";
  return of.words.has(of.folded ? text.toLowerCase() : text) ? "keyword" : "";
}

/**
 * The tokens of every line. Together they are the line.
 * @param {string[]} lines
 * @param {string} file
 * @returns {Token[][]|null} null: the language is not known
 */
export function tokensOf(lines, file) {
  const of = languageOf(file);
  if (!of) return null;
  const pattern = patternOf(of);
  /** What is open at the end of a line. @type {{close: string, kind: Kind}|null} */
  let open = null;
  return lines.map(line => {
    /** @type {Token[]} */
    const tokens = [];
    const text = line.slice(0, MOST);
    let at = 0;
    const take = (end, kind) => {
      if (end > at) tokens.push([text.slice(at, end), kind]);
      at = end;
    };
    while (at < text.length) {
      if (open) {
        const end = text.indexOf(open.close, at);
        take(end < 0 ? text.length : end + open.close.length, open.kind);
        if (end >= 0) open = null;
        continue;
      }
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (!found) break;
      take(found.index, "");
      const block = of.block.find(([start]) => start === found[0]);
      const long = of.long.find(([start]) => start === found[0]);
      if (block || long) {
        open = {close: (block ?? long)[1], kind: block ? "comment" : "string"};
        take(found.index + found[0].length, open.kind);
      } else {
        take(found.index + found[0].length, kindOf(of, found[0]));
      }
    }
    take(text.length, "");
    if (line.length > MOST) tokens.push([line.slice(MOST), ""]);
    return tokens;
  });
}
