-- SPDX-License-Identifier: MIT
--
-- A JSON codec: a recursive writer with stable order, a recursive-descent reader with positions in its messages.

local json = {}
local counts = {value = 0, encode = 0}

-- ---------------------------------------------------------------- writing

local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r"}

local function escape(c)
    return escapes[c] or string.format("\\u%04x", c:byte())
end

local function quote(s)
    return '"' .. s:gsub('[%c"\\]', escape) .. '"'
end

local function sorted_keys(t)
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = k end
    table.sort(keys)
    return keys
end

local function is_array(t)
    return #t > 0 or next(t) == nil
end

local encode

local function encode_array(t, out)
    out[#out + 1] = "["
    for i, v in ipairs(t) do
        if i > 1 then out[#out + 1] = "," end
        encode(v, out)
    end
    out[#out + 1] = "]"
end

local function encode_object(t, out)
    out[#out + 1] = "{"
    for i, k in ipairs(sorted_keys(t)) do
        if i > 1 then out[#out + 1] = "," end
        out[#out + 1] = quote(k)
        out[#out + 1] = ":"
        encode(t[k], out)
    end
    out[#out + 1] = "}"
end

local writers = {
    string = function(v, out) out[#out + 1] = quote(v) end,
    number = function(v, out)
        out[#out + 1] = math.type(v) == "integer" and tostring(v) or string.format("%.14g", v)
    end,
    boolean = function(v, out) out[#out + 1] = tostring(v) end,
    table = function(v, out)
        if v == json.null then
            out[#out + 1] = "null"
        elseif is_array(v) then
            encode_array(v, out)
        else
            encode_object(v, out)
        end
    end,
}

function encode(v, out)
    counts.encode = counts.encode + 1
    local writer = writers[type(v)] or error("cannot write a " .. type(v))
    writer(v, out)
end

json.null = setmetatable({}, {__tostring = function() return "null" end})

function json.encode(v)
    local out = {}
    encode(v, out)
    return table.concat(out)
end

-- ---------------------------------------------------------------- reading

local Reader = {}
Reader.__index = Reader

function Reader:fail(what)
    local line = select(2, self.text:sub(1, self.at):gsub("\n", "")) + 1
    error(string.format("line %d, byte %d: %s", line, self.at, what), 0)
end

function Reader:space()
    self.at = self.text:find("[^ \t\r\n]", self.at) or #self.text + 1
end

function Reader:take(c)
    self:space()
    if self.text:sub(self.at, self.at) ~= c then return false end
    self.at = self.at + 1
    return true
end

function Reader:expect(c)
    if not self:take(c) then self:fail("expected " .. c) end
end

local unescapes = {n = "\n", t = "\t", r = "\r", b = "\b", f = "\f", ["/"] = "/", ['"'] = '"', ["\\"] = "\\"}

function Reader:string()
    local parts = {}
    while true do
        local stop = self.text:find('["\\]', self.at) or self:fail("a string that does not end")
        parts[#parts + 1] = self.text:sub(self.at, stop - 1)
        self.at = stop + 1
        if self.text:sub(stop, stop) == '"' then return table.concat(parts) end
        local c = self.text:sub(self.at, self.at)
        if c == "u" then
            parts[#parts + 1] = utf8.char(tonumber(self.text:sub(self.at + 1, self.at + 4), 16))
            self.at = self.at + 5
        else
            parts[#parts + 1] = unescapes[c] or self:fail("no such escape")
            self.at = self.at + 1
        end
    end
end

function Reader:number()
    local text = self.text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", self.at) or self:fail("expected a value")
    self.at = self.at + #text
    return math.tointeger(text) or tonumber(text)
end

function Reader:array()
    local result = {}
    if self:take("]") then return result end
    repeat
        result[#result + 1] = self:value()
    until not self:take(",")
    self:expect("]")
    return result
end

function Reader:object()
    local result = {}
    if self:take("}") then return result end
    repeat
        self:expect('"')
        local key = self:string()
        self:expect(":")
        result[key] = self:value()
    until not self:take(",")
    self:expect("}")
    return result
end

local words = {["true"] = true, ["false"] = false, null = json.null}

function Reader:word()
    local word = self.text:match("^%a+", self.at)
    if words[word] == nil then self:fail("no such word: " .. tostring(word)) end
    self.at = self.at + #word
    return words[word]
end

function Reader:value()
    counts.value = counts.value + 1
    self:space()
    local c = self.text:sub(self.at, self.at)
    if c == "{" then self.at = self.at + 1 return self:object() end
    if c == "[" then self.at = self.at + 1 return self:array() end
    if c == '"' then self.at = self.at + 1 return self:string() end
    if c:find("%a") then return self:word() end
    return self:number()
end

function json.decode(text)
    local reader = setmetatable({text = text, at = 1}, Reader)
    local value = reader:value()
    reader:space()
    if reader.at <= #text then reader:fail("something after the value") end
    return value
end

-- ---------------------------------------------------------------- a document, there and back

local function document(n)
    local list = {}
    for i = 1, n do
        list[i] = {id = i, name = "name " .. i, tags = {"a", "b\n", 'c"'}, ratio = i / 8, ok = i % 2 == 0,
                   nothing = json.null, inner = {x = {y = {z = i}}}}
    end
    return {items = list, count = n}
end

local text = json.encode(document(tonumber(arg and arg[1]) or 300))
for _ = 1, 5 do assert(json.encode(json.decode(text)) == text) end

local failures = 0
for _, bad in ipairs {"", "{", "[1,", '{"a" 1}', "nul", '"\\x"', "[1] 2", '"open'} do
    local ok, message = pcall(json.decode, bad)
    assert(not ok and message:find("^line %d+, byte %d+: "), message)
    failures = failures + 1
end
print("bytes", #text)
print("calls json.decode " .. 5 + failures)
print("calls Reader:fail " .. failures)
print("calls Reader:value " .. counts.value)
print("calls encode " .. counts.encode)
