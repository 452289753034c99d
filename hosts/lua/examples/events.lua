-- SPDX-License-Identifier: MIT
--
-- An event loop: tasks are coroutines, timers are a heap, channels wait on both sides. Time is simulated, so that a run
-- is the same every time.

local Heap = {}
Heap.__index = Heap

function Heap.new(less) return setmetatable({n = 0, less = less}, Heap) end

function Heap:push(v)
    self.n = self.n + 1
    local i = self.n
    while i > 1 and self.less(v, self[i // 2]) do
        self[i] = self[i // 2]
        i = i // 2
    end
    self[i] = v
end

function Heap:pop()
    local first, last = self[1], self[self.n]
    self[self.n] = nil
    self.n = self.n - 1
    local i = 1
    while 2 * i <= self.n do
        local child = 2 * i
        if child < self.n and self.less(self[child + 1], self[child]) then child = child + 1 end
        if not self.less(self[child], last) then break end
        self[i] = self[child]
        i = child
    end
    if self.n > 0 then self[i] = last end
    return first
end

-- ---------------------------------------------------------------- the loop

local Loop = {now = 0, order = 0, switches = 0, errors = {}}
Loop.timers = Heap.new(function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.order < b.order
end)
Loop.ready = {first = 1, last = 0}

function Loop:schedule(co, ...)
    local queue = self.ready
    queue.last = queue.last + 1
    queue[queue.last] = {co, ...}
end

function Loop:spawn(f, ...)
    local co = coroutine.create(f)
    self:schedule(co, ...)
    return co
end

function Loop:sleep(time)
    self.order = self.order + 1
    self.timers:push {at = self.now + time, order = self.order, co = coroutine.running()}
    coroutine.yield()
end

function Loop:step()
    local queue = self.ready
    local task = queue[queue.first]
    queue[queue.first] = nil
    queue.first = queue.first + 1
    self.switches = self.switches + 1
    local ok, message = coroutine.resume(task[1], table.unpack(task, 2))
    if not ok then self.errors[#self.errors + 1] = message end
end

function Loop:run()
    while true do
        while self.ready.first <= self.ready.last do self:step() end
        if self.timers.n == 0 then return end
        local timer = self.timers:pop()
        self.now = timer.at
        self:schedule(timer.co)
    end
end

-- ---------------------------------------------------------------- channels

local Channel = {}
Channel.__index = Channel

function Channel.new() return setmetatable({readers = {}, writers = {}}, Channel) end

function Channel:send(v)
    local reader = table.remove(self.readers, 1)
    if reader then
        Loop:schedule(reader, v)
    else
        table.insert(self.writers, {coroutine.running(), v})
        coroutine.yield()
    end
end

function Channel:receive()
    local writer = table.remove(self.writers, 1)
    if writer then
        Loop:schedule(writer[1])
        return writer[2]
    end
    table.insert(self.readers, (coroutine.running()))
    return coroutine.yield()
end

-- ---------------------------------------------------------------- producers, workers, a collector

local MESSAGES, WORKERS = tonumber(arg and arg[1]) or 500, 4
local jobs, results = Channel.new(), Channel.new()
local sum, received = 0, 0

local function produce(n)
    for i = 1, n do
        if i % 10 == 0 then Loop:sleep(i % 3) end
        jobs:send(i)
    end
end

local function square(i) return i * i end

local function work(id)
    while true do
        local job = jobs:receive()
        if job % 7 == id then Loop:sleep(0.5) end
        results:send(square(job))
    end
end

local function collect()
    for _ = 1, MESSAGES do
        sum = sum + results:receive()
        received = received + 1
    end
end

local function failing()
    Loop:sleep(1)
    error("a task that fails")
end

for id = 1, WORKERS do Loop:spawn(work, id) end
Loop:spawn(collect)
Loop:spawn(produce, MESSAGES)
Loop:spawn(failing)
Loop:run()

assert(received == MESSAGES and sum == MESSAGES * (MESSAGES + 1) * (2 * MESSAGES + 1) // 6)
assert(#Loop.errors == 1 and Loop.errors[1]:find("a task that fails"))
print("time", Loop.now)
print("calls square " .. MESSAGES)
print("calls Channel:receive " .. 2 * MESSAGES + WORKERS)
print("calls Loop:step " .. Loop.switches)
print("calls failing 1")
