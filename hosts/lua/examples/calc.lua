-- SPDX-License-Identifier: MIT
--
-- A small language: a lexer, a recursive-descent parser, and an interpreter that calls closures made from the tree. The
-- program that it runs computes primes and factorials, and fails once.

local KEYWORDS = {["let"] = true, ["fun"] = true, ["if"] = true, ["else"] = true, ["while"] = true, ["return"] = true}

local function lex(text)
    local list, at = {}, 1
    while true do
        at = text:find("%S", at)
        if not at then break end
        local word = text:match("^[%a_][%w_]*", at) or text:match("^%d+", at) or text:match("^[<>=!]=", at)
            or text:sub(at, at)
        local kind = word:match("^%d") and "number" or word:match("^[%a_]") and (KEYWORDS[word] or "name") or "sign"
        list[#list + 1] = {kind = kind == true and "word" or kind, text = word, at = at}
        at = at + #word
    end
    list[#list + 1] = {kind = "end", text = "", at = #text}
    return list
end

-- ---------------------------------------------------------------- the parser

local Parser = {}
Parser.__index = Parser

function Parser:peek(text) return self.tokens[self.i].text == text end

function Parser:accept(text)
    if not self:peek(text) then return false end
    self.i = self.i + 1
    return true
end

function Parser:expect(text)
    if not self:accept(text) then
        local t = self.tokens[self.i]
        error(("byte %d: expected %s, found '%s'"):format(t.at, text, t.text), 0)
    end
end

function Parser:take(kind)
    local t = self.tokens[self.i]
    if t.kind ~= kind then error(("byte %d: expected a %s, found '%s'"):format(t.at, kind, t.text), 0) end
    self.i = self.i + 1
    return t.text
end

function Parser:arguments()
    local list = {}
    while not self:accept(")") do
        if #list > 0 then self:expect(",") end
        list[#list + 1] = self:expression()
    end
    return list
end

function Parser:primary()
    if self:accept("(") then
        local e = self:expression()
        self:expect(")")
        return e
    end
    if self.tokens[self.i].kind == "number" then return {op = "number", value = tonumber(self:take("number"))} end
    local name = self:take("name")
    if self:accept("(") then return {op = "call", name = name, self:arguments()} end
    return {op = "variable", name = name}
end

local LEVELS = {{"==", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}

function Parser:binary(level)
    if level > #LEVELS then return self:primary() end
    local left = self:binary(level + 1)
    while true do
        local found
        for _, op in ipairs(LEVELS[level]) do
            if self:accept(op) then found = op break end
        end
        if not found then return left end
        left = {op = found, left, self:binary(level + 1)}
    end
end

function Parser:expression() return self:binary(1) end

function Parser:block()
    self:expect("{")
    local list = {op = "block"}
    while not self:accept("}") do list[#list + 1] = self:statement() end
    return list
end

function Parser:statement()
    if self:accept("let") then
        local name = self:take("name")
        self:expect("=")
        local e = self:expression()
        self:expect(";")
        return {op = "let", name = name, e}
    elseif self:accept("if") then
        local condition, yes, no = self:expression(), self:block(), nil
        if self:accept("else") then no = self:block() end
        return {op = "if", condition, yes, no}
    elseif self:accept("while") then
        return {op = "while", self:expression(), self:block()}
    elseif self:accept("return") then
        local e = self:expression()
        self:expect(";")
        return {op = "return", e}
    elseif self:accept("fun") then
        local name, parameters = self:take("name"), {}
        self:expect("(")
        while not self:accept(")") do
            if #parameters > 0 then self:expect(",") end
            parameters[#parameters + 1] = self:take("name")
        end
        return {op = "fun", name = name, parameters = parameters, self:block()}
    end
    local e = self:expression()
    self:expect(";")
    return {op = "do", e}
end

local function parse(text)
    local parser = setmetatable({tokens = lex(text), i = 1}, Parser)
    local program = {op = "block"}
    while parser.tokens[parser.i].kind ~= "end" do program[#program + 1] = parser:statement() end
    return program
end

-- ---------------------------------------------------------------- the interpreter

local evaluate, execute
local calls = 0

local arithmetic = {
    ["+"] = function(a, b) return a + b end,
    ["-"] = function(a, b) return a - b end,
    ["*"] = function(a, b) return a * b end,
    ["/"] = function(a, b)
        if b == 0 then error("division by zero", 0) end
        return a // b
    end,
    ["%"] = function(a, b) return a % b end,
    ["<"] = function(a, b) return a < b and 1 or 0 end,
    [">"] = function(a, b) return a > b and 1 or 0 end,
    ["=="] = function(a, b) return a == b and 1 or 0 end,
}

local function scope(parent) return setmetatable({}, {__index = parent}) end

local function call(f, values)
    calls = calls + 1
    local inner = scope(f.scope)
    for i, name in ipairs(f.parameters) do inner[name] = values[i] end
    local _, value = execute(f.body, inner)
    return value or 0
end

function evaluate(node, env)
    local op = node.op
    if op == "number" then return node.value end
    if op == "variable" then return env[node.name] or error("no variable " .. node.name, 0) end
    if op == "call" then
        local values = {}
        for i, argument in ipairs(node[1]) do values[i] = evaluate(argument, env) end
        local f = env[node.name] or error("no function " .. node.name, 0)
        if type(f) == "function" then return f(table.unpack(values)) end
        return call(f, values)
    end
    return arithmetic[op](evaluate(node[1], env), evaluate(node[2], env))
end

local statements = {
    ["let"] = function(node, env) env[node.name] = evaluate(node[1], env) end,
    ["do"] = function(node, env) evaluate(node[1], env) end,
    ["fun"] = function(node, env)
        env[node.name] = {parameters = node.parameters, body = node[1], scope = env}
    end,
    ["return"] = function(node, env) return true, evaluate(node[1], env) end,
    ["if"] = function(node, env)
        local branch = evaluate(node[1], env) ~= 0 and node[2] or node[3]
        if branch then return execute(branch, env) end
    end,
    ["while"] = function(node, env)
        while evaluate(node[1], env) ~= 0 do
            local returned, value = execute(node[2], env)
            if returned then return true, value end
        end
    end,
}

function execute(block, env)
    for _, node in ipairs(block) do
        local returned, value = statements[node.op](node, env)
        if returned then return true, value end
    end
end

-- ---------------------------------------------------------------- a program in it

local out = {}
local function show(v)
    out[#out + 1] = v
    return v
end

local function run(text)
    local env = scope {print = show}
    return execute(parse(text), env)
end

run [[
    fun factorial(n) { if n < 2 { return 1; } return n * factorial(n - 1); }
    fun fib(n) { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }
    fun prime(n) {
        let d = 2;
        while d * d < n + 1 { if n % d == 0 { return 0; } let d = d + 1; }
        return 1;
    }
    print(factorial(10));
    print(fib(16));
    let n = 2; let count = 0;
    while n < 300 { if prime(n) { let count = count + 1; } let n = n + 1; }
    print(count);
]]

assert(out[1] == 3628800 and out[2] == 987 and out[3] == 62, table.concat(out, " "))
for _, bad in ipairs {"let = 1;", "print(1", "nothing();", "print(1 / 0);", "x + ;"} do
    local ok, message = pcall(run, bad)
    assert(not ok, message)
end
print(table.concat(out, " "))
print("calls call " .. calls)
print("calls show " .. #out)
print("calls parse 6")
assert(calls == 10 + 3193 + 298)
