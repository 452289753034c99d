-- SPDX-License-Identifier: MIT
--
-- A traffic light as three functions that tail call each other, ten million times. A profiler that keeps a frame per
-- call would need gigabytes; a path of tail calls that repeat is compacted.

local TRANSITIONS = tonumber(arg and arg[1]) or 10000000
local counts = {red = 0, green = 0, amber = 0}
local left = TRANSITIONS
local seed = 42

local green, amber, red

-- A small generator of our own, so that the run is the same everywhere.
local function toss()
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed
end

function red()
    if left == 0 then return "red" end
    left = left - 1
    counts.red = counts.red + 1
    return green()
end

function green()
    if left == 0 then return "green" end
    left = left - 1
    counts.green = counts.green + 1
    if left % 1000 == 0 and toss() % 2 == 0 then
        return red()
    end
    return amber()
end

function amber()
    if left == 0 then return "amber" end
    left = left - 1
    counts.amber = counts.amber + 1
    if left % 7 == 0 then
        return green()
    end
    return red()
end

local last = red()

-- The last state was called as well, but had no transition left to make.
local called = {red = counts.red, green = counts.green, amber = counts.amber}
assert(counts.red + counts.green + counts.amber == TRANSITIONS)
called[last] = called[last] + 1
local sum = 0
for _, state in ipairs {"red", "green", "amber"} do
    -- The profile counts that call as well: take it off.
    print(state, called[state] - (state == last and 1 or 0))
    sum = sum + called[state]
end
assert(sum == TRANSITIONS + 1)
print("last", last)
