-- SPDX-License-Identifier: MIT
--
-- A pipeline of coroutines: characters, tokens, statements, sums. Each stage pulls from the one before it with its own
-- stack, so the parser is written as if it had the text to itself.

local function characters(text)
    return coroutine.wrap(function()
        for i = 1, #text do coroutine.yield(text:sub(i, i)) end
    end)
end

local function class(c)
    if not c then return "end" end
    if c:match("%s") then return "space" end
    if c:match("%d") then return "number" end
    if c:match("[%a_]") then return "name" end
    return "sign"
end

local made = 0
local function emit(kind, text)
    made = made + 1
    coroutine.yield(kind, text)
end

local function lex(source)
    local c = source()
    while c do
        local kind = class(c)
        if kind == "sign" then
            emit(kind, c)
            c = source()
        else
            local parts = {}
            while class(c) == kind or (kind == "name" and class(c) == "number") do
                parts[#parts + 1] = c
                c = source()
            end
            if kind ~= "space" then emit(kind, table.concat(parts)) end
        end
    end
    emit("end", "")
end

local function tokens(source)
    return coroutine.wrap(function() lex(source) end)
end

-- name = number { (+|-) number } ;
local Parser = {}
Parser.__index = Parser

function Parser.new(next_token)
    local self = setmetatable({next_token = next_token}, Parser)
    self:advance()
    return self
end

function Parser:advance()
    self.kind, self.text = self.next_token()
end

function Parser:expect(kind, text)
    if self.kind ~= kind or (text and self.text ~= text) then
        error(string.format("expected %s, found %s '%s'", text or kind, self.kind, self.text), 0)
    end
    local found = self.text
    self:advance()
    return found
end

function Parser:term()
    return tonumber(self:expect("number"))
end

function Parser:sum()
    local value = self:term()
    while self.text == "+" or self.text == "-" do
        local sign = self:expect("sign")
        local right = self:term()
        value = sign == "+" and value + right or value - right
    end
    return value
end

function Parser:statement()
    local name = self:expect("name")
    self:expect("sign", "=")
    local value = self:sum()
    self:expect("sign", ";")
    return name, value
end

local function statements(next_token)
    return coroutine.wrap(function()
        local parser = Parser.new(next_token)
        while parser.kind ~= "end" do coroutine.yield(parser:statement()) end
    end)
end

-- ---------------------------------------------------------------- a text of many statements

local lines = {}
local LINES = tonumber(arg and arg[1]) or 400
for i = 1, LINES do lines[i] = string.format("name_%d = %d + %d - %d;", i, i, 2 * i, i // 2) end

local total, count = 0, 0
for name, value in statements(tokens(characters(table.concat(lines, "\n")))) do
    assert(name == "name_" .. count + 1)
    total, count = total + value, count + 1
end
assert(count == LINES)

-- An error comes through all three stages.
local failed = 0
for _, text in ipairs {"a = ;", "a 1;", "= 2;", "a = 1"} do
    local ok, message = pcall(function()
        for _ in statements(tokens(characters(text))) do end
    end)
    assert(not ok and message:find("expected"), message)
    failed = failed + 1
end
print("total", total)
print("failed", failed)
print("calls Parser:statement " .. count + failed)
print("calls emit " .. made)
