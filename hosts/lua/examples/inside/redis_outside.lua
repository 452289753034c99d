-- SPDX-License-Identifier: MIT
--
-- Runs a script of Redis outside of Redis, so that it can be profiled, with redis.call going to a real server:
--
--     ouro lua5.1 --precise redis_outside.lua script.lua key1 key2 , argument1
--
-- as redis-cli --eval would run it inside. REDIS_CLI is the command that talks to the server (redis-cli). Replies are
-- those of the server, but arrays inside arrays are not understood, and other clients can come in between two calls.

local file = assert(arg[1], "which script?")
KEYS, ARGV = {}, {}
local list = KEYS
for i = 2, #arg do
    if arg[i] == "," then list = ARGV else list[#list + 1] = arg[i] end
end

-- Without a server redis-cli waits for one, and so would this program.
local cli = os.getenv("REDIS_CLI") or "redis-cli"
local status = os.execute(cli .. " ping >/dev/null 2>&1")
assert(status == 0 or status == true, "no server answers `" .. cli .. " ping`")

-- Commands go to redis-cli through a pipe; its answers come back through a named one.
local answers = os.tmpname()
os.remove(answers)
assert(os.execute("mkfifo -m 600 '" .. answers .. "'"))
local commands = assert(io.popen(cli .. " --no-raw >'" .. answers .. "'", "w"))
local replies = assert(io.open(answers))
os.remove(answers)

local function quote(value)
    return '"' .. tostring(value):gsub("[^%w_:.-]", function(c) return ("\\x%02x"):format(c:byte()) end) .. '"'
end

local escapes = {n = "\n", r = "\r", t = "\t", a = "\a", b = "\b"}
local function unquote(text)
    text = text:gsub("\\x(%x%x)", function(hex) return "\0" .. hex .. "\0" end)
    text = text:gsub("\\(.)", function(c) return escapes[c] or c end)
    return (text:gsub("%z(%x%x)%z", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function value_of(line)
    if line == "(nil)" then return false end
    local text = line:match('^"(.*)"$')
    if text then return unquote(text) end
    local number = line:match("^%(integer%) (-?%d+)$")
    if number then return tonumber(number) end
    local message = line:match("^%(error%) (.*)$")
    if message then return {err = message} end
    if line:match("^%(empty ") then return {} end
    return {ok = line}
end

local ends = "end-of-the-answer"
local function ask(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = quote((select(i, ...))) end
    commands:write(table.concat(words, " "), "\necho ", ends, "\n")
    commands:flush()
    local result, array
    for line in replies:lines() do
        if line == '"' .. ends .. '"' then return array or result end
        local item = line:match("^%s*%d+%) (.*)$")
        if item then
            array = array or {}
            array[#array + 1] = value_of(item)
        else
            result = value_of(line)
        end
    end
    error("redis-cli has ended")
end

redis = {LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3}
redis.pcall = ask
function redis.call(...)
    local result = ask(...)
    if type(result) == "table" and result.err then error(result.err, 2) end
    return result
end
function redis.log() end
function redis.error_reply(text) return {err = text} end
function redis.status_reply(text) return {ok = text} end

local result = assert(loadfile(file))()
commands:close()
if type(result) == "table" then
    print(result.err or result.ok or table.concat(result, "\n"))
else
    print(result)
end
