-- SPDX-License-Identifier: MIT
-- Computes formulas such as `(1 + 2) * 3` by a parser that follows the rules of a grammar, one function for each:
--
--     sum     = product "+" sum | product
--     product = atom "*" product | atom
--     atom    = "(" sum ")" | number
--
-- docs/tutorial-lua.md finds out why it reads the same text again and again, and mends it.

local text

-- Each function takes the place where it starts to read. It returns what it found, and the place behind it.
local function skip(at)
    while text:sub(at, at) == " " do at = at + 1 end
    return at
end

local function sign(at, wanted)
    at = skip(at)
    if text:sub(at, at) == wanted then return at + 1 end
end

local sum

local function atom(at)
    local inside = sign(at, "(")
    if inside then
        local value, behind = sum(inside)
        return value, sign(behind, ")")
    end
    local digits = text:match("^%d+", skip(at))
    return tonumber(digits), skip(at) + #digits
end

local function product(at)
    local left, behind = atom(at)
    local next = sign(behind, "*")
    if not next then return left, behind end
    local right, last = product(next)
    return left * right, last
end

function sum(at)
    local left, behind = product(at)
    local next = sign(behind, "+")
    if not next then return product(at) end
    local right, last = sum(next)
    return left + right, last
end

local characters = 0

local function compute(formula)
    text = formula
    characters = characters + #text
    return (sum(1))
end

-- (1 * 2 + (2 * 2 + (3 * 2 + (4)))), if the last is 4
local function nested(n, last)
    if n == last then return "(" .. n .. ")" end
    return "(" .. n .. " * 2 + " .. nested(n + 1, last) .. ")"
end

assert(compute("(1 + 2) * 3 + 4 * (5 + 6)") == 53)
assert(compute(nested(1, 4)) == 16)
local depth = tonumber(arg and arg[1]) or 12
for n = 1, depth do compute(nested(1, n)) end
print(depth + 2 .. " formulas, " .. characters .. " characters")
