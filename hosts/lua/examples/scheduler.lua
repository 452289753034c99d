-- SPDX-License-Identifier: MIT
--
-- A scheduler of tasks that are coroutines, one of which reads from another: who resumed whom is on the path.

local rounds = tonumber(arg and arg[1]) or 2000

local function parse(n)
    local sum = 0
    for i = 1, 50 do sum = sum + (n * i) % 7 end
    return sum
end

-- A coroutine inside a task: the task resumes it, and not the scheduler.
local function lines()
    return coroutine.wrap(function()
        for n = 1, rounds do coroutine.yield(n) end
    end)
end

local function reader()
    local total, next_line = 0, lines()
    for _ = 1, rounds do
        total = total + parse(next_line())
        coroutine.yield()
    end
    return total
end

local function writer()
    local total = 0
    for n = 1, rounds do
        total = total + parse(n)
        coroutine.yield()
    end
    return total
end

local function scheduler(tasks)
    local results = {}
    while #tasks > 0 do
        for i = #tasks, 1, -1 do
            local step = tasks[i]
            local result = step()
            if result then
                results[#results + 1] = result
                table.remove(tasks, i)
            end
        end
    end
    return results
end

local results = scheduler {coroutine.wrap(reader), coroutine.wrap(writer)}
assert(#results == 2 and results[1] == results[2])
print("calls parse " .. 2 * rounds)
print("calls step " .. 2 * (rounds + 1))
print("calls next_line " .. rounds)
