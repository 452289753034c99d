-- SPDX-License-Identifier: MIT
--
-- The towers of Hanoi: recursive, iterative with a stack of its own, and by a coroutine that yields moves. All three
-- make the same moves, 2^n - 1 of them.

local DISKS = 15
local pegs

local function reset()
    pegs = {a = {}, b = {}, c = {}}
    for i = DISKS, 1, -1 do table.insert(pegs.a, i) end
end

local checked = 0
local function transfer(from, to)
    checked = checked + 1
    local source, target = pegs[from], pegs[to]
    local disk = source[#source]
    source[#source] = nil
    assert(not target[#target] or target[#target] > disk, "a larger disk on a smaller one")
    target[#target + 1] = disk
end

local function move(n, from, to, over)
    if n == 0 then return end
    move(n - 1, from, over, to)
    transfer(from, to)
    move(n - 1, over, to, from)
end

reset()
move(DISKS, "a", "c", "b")
assert(#pegs.c == DISKS and #pegs.a == 0)
local moves = checked

-- With a stack of our own.
local function iterative(n)
    local stack = {{n, "a", "c", "b", false}}
    local count = 0
    while #stack > 0 do
        local job = table.remove(stack)
        local k, from, to, over, ready = job[1], job[2], job[3], job[4], job[5]
        if ready then
            count = count + 1
        elseif k > 0 then
            stack[#stack + 1] = {k - 1, over, to, from, false}
            stack[#stack + 1] = {k, from, to, over, true}
            stack[#stack + 1] = {k - 1, from, over, to, false}
        end
    end
    return count
end

-- With a coroutine.
local function yielding(n, from, to, over)
    if n == 0 then return end
    yielding(n - 1, from, over, to)
    coroutine.yield(from, to)
    yielding(n - 1, over, to, from)
end

local function by_coroutine(n)
    local co = coroutine.create(function() yielding(n, "a", "c", "b") end)
    local count = 0
    while true do
        local ok, from = coroutine.resume(co)
        assert(ok)
        if not from then return count end
        count = count + 1
    end
end

assert(iterative(10) == 2 ^ 10 - 1)
assert(by_coroutine(10) == 2 ^ 10 - 1)
print("moves", moves)
print("calls yielding " .. (1 << 11) - 1)
print("calls coroutine.yield " .. (1 << 10) - 1)
