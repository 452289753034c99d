-- SPDX-License-Identifier: MIT
--
-- The naive profiler that random programs are compared with: a hook in Lua that counts levels at every call, and keeps
-- paths as text. lua model.lua PROGRAM prints a path and its calls per line.

local counts, paths, bases, names = {}, {}, {}, {}
local outside = {} -- in place of the main coroutine, which Lua 5.1 does not name
local main = coroutine.running() or outside
local last_thread, last_path, last_resumed

local function name_of(f)
    if names[f] then return names[f] end
    for module, fields in pairs(package.loaded) do
        for field, value in pairs(type(fields) == "table" and fields or {}) do
            if value == f then
                names[f] = module == "_G" and field or module .. "." .. field
                -- A global name is the better one.
                if module == "_G" then return field end
            end
        end
    end
    return names[f] or "?"
end

local create, sethook, getinfo = coroutine.create, debug.sethook, debug.getinfo

local hook
function hook(event)
    local thread = coroutine.running() or outside
    local f = getinfo(4, "f").func
    local name = name_of(f)
    if name == "debug.sethook" then return end
    local depth = 0
    while getinfo(depth + 4, "f") do depth = depth + 1 end
    -- Lua 5.3 counts the function that is replaced as well.
    if event == "tail call" and _VERSION == "Lua 5.3" then depth = depth - 1 end
    local stack = paths[thread]
    if not stack then
        stack = {}
        paths[thread] = stack
    end
    -- Resumed: everything in this thread is now below its resumer. Of a chain of tail calls, a frame that moves keeps
    -- the last one.
    if thread == last_resumed and thread ~= last_thread and bases[thread] ~= last_path then
        bases[thread] = last_path
        for i, chain in ipairs(stack) do stack[i] = {chain[#chain]} end
    end
    if event == "tail call" then
        table.insert(stack[depth], name)
    else
        stack[depth] = {name}
    end
    local path = bases[thread] or ""
    for i = 1, depth do path = path .. ";" .. table.concat(stack[i] or {"?"}, ";") end
    counts[path] = (counts[path] or 0) + 1
    last_thread, last_path, last_resumed = thread, path, nil
    if name == "coroutine.resume" or name == "coroutine.close" then
        -- A coroutine that waits for us cannot be resumed: no event. A failed one has variables to close.
        local other = select(2, debug.getlocal(4, 1))
        local status = coroutine.status(other)
        local runs = status == "suspended" or (status == "dead" and name == "coroutine.close")
        last_resumed = runs and other or nil
    end
end

function note(co) sethook(co, hook, "c") end

local program = assert(loadfile(arg[1]))
program()
for _, name in ipairs(FUNCTIONS) do names[_G[name]] = name end
names[note] = "note"
paths[main] = {}
local failure
local inner = hook
function hook(event)
    local ok, message = pcall(inner, event)
    failure = failure or not ok and message
end
sethook(hook, "c")
pcall(start)
sethook()
assert(not failure, failure)
local list = {}
for path, n in pairs(counts) do
    local below = path:match("^.-;pcall(;start.*)$")
    if below then list[#list + 1] = below:sub(2) .. " " .. n end
end
table.sort(list)
print(table.concat(list, "\n"))
