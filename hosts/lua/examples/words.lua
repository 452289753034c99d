-- SPDX-License-Identifier: MIT
--
-- Words of a text: counted, sorted, indexed, and a chain that makes new text of them. Nearly all of the time is spent
-- in C functions, which a profiler must not charge to their callers.

local vocabulary = {"the", "ring", "of", "a", "snake", "that", "eats", "its", "own", "tail", "is", "older", "than",
                    "any", "book", "and", "every", "end", "has", "begun", "before"}
local seed = 11

local function random(n)
    seed = (seed * 48271) % 2147483647
    return seed % n + 1
end

local function sentence()
    local list = {}
    for i = 1, 5 + random(10) do list[i] = vocabulary[random(#vocabulary)] end
    local text = table.concat(list, " ")
    return text:sub(1, 1):upper() .. text:sub(2) .. "."
end

local SENTENCES = tonumber(arg and arg[1]) or 800
local parts = {}
for i = 1, SENTENCES do parts[i] = sentence() end
local text = table.concat(parts, " ")

local words = 0
local function each_word(f)
    for word in text:gmatch("%a+") do
        words = words + 1
        f(word:lower())
    end
end

local counts = {}
local function count(word) counts[word] = (counts[word] or 0) + 1 end
each_word(count)

local function by_count(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
end

local function ranked()
    local list = {}
    for word in pairs(counts) do list[#list + 1] = word end
    table.sort(list, by_count)
    return list
end

local list = ranked()
assert(#list == #vocabulary)
for i = 2, #list do assert(not by_count(list[i], list[i - 1])) end

-- Where each word stands.
local positions = {}
for from, word, to in text:gmatch("()(%a+)()") do
    word = word:lower()
    positions[word] = positions[word] or {}
    table.insert(positions[word], from)
    assert(to - from == #word)
end
for word, n in pairs(counts) do assert(#positions[word] == n) end

-- A Markov chain: which words follow a word.
local follows, last = {}, nil
local function follow(word)
    if last then
        follows[last] = follows[last] or {}
        table.insert(follows[last], word)
    end
    last = word
end
each_word(follow)

local function chain(word, n)
    if n == 0 then return word end
    local choices = follows[word] or vocabulary
    return word .. " " .. chain(choices[random(#choices)], n - 1)
end

local made = chain("the", 50)
assert(select(2, made:gsub("%a+", "")) == 51)

local function reverse(s) return (s:gsub("%a+", string.reverse)) end
assert(reverse(reverse(text)) == text)

print("words", words // 2)
print("calls count " .. words // 2)
print("calls follow " .. words // 2)
print("calls sentence " .. SENTENCES)
print("calls chain 51")
