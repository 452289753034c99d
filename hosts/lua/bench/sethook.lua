-- SPDX-License-Identifier: MIT
--
-- A profiler as people write it: debug.sethook with a function that keeps a stack of names and counts calls per path.

local counts, stack = {}, {}

local function hook(event)
    if event == "return" then
        stack[#stack] = nil
        return
    end
    local info = debug.getinfo(2, "Sn")
    local name = (info.name or "?") .. "@" .. info.short_src .. ":" .. info.linedefined
    if event == "call" then
        stack[#stack + 1] = name
    else
        stack[#stack] = name
    end
    counts[name] = (counts[name] or 0) + 1
end

debug.sethook(hook, "cr")
return true
