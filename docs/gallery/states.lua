-- The three states again: in Lua, every call in a return takes its caller's place.
local turns, parses, all = 0, 0, 0
local function work(n) for i = 1, n do turns = turns + 1 end all = all + n end
local parse, emit
local function reader(n) work(100) if n > 0 then return parse(n - 1) end end
function parse(n) work(600) parses = parses + 600 return emit(n) end
function emit(n) work(300) return reader(n) end
reader(tonumber(arg[1]))
print(string.format("%.1f", 100 * parses / all))
