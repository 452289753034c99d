-- SPDX-License-Identifier: MIT
--
-- Binary trees, made and dropped: work for the allocator and the collector.

local made, visited = 0, 0

local function make(depth)
    made = made + 1
    if depth == 0 then return {} end
    return {make(depth - 1), make(depth - 1)}
end

local function check(tree)
    visited = visited + 1
    if not tree[1] then return 1 end
    return 1 + check(tree[1]) + check(tree[2])
end

-- A search tree with rotations on the way: the same work in another shape.
local Node = {}
Node.__index = Node

function Node.new(key, priority) return setmetatable({key = key, priority = priority}, Node) end

local function rotate(node, from, to)
    local child = node[from]
    node[from] = child[to]
    child[to] = node
    return child
end

local function insert(node, key, priority)
    if not node then return Node.new(key, priority) end
    local side = key < node.key and "left" or "right"
    node[side] = insert(node[side], key, priority)
    if node[side].priority > node.priority then
        return rotate(node, side, side == "left" and "right" or "left")
    end
    return node
end

local function walk(node)
    if not node then return end
    walk(node.left)
    coroutine.yield(node.key)
    walk(node.right)
end

local function keys(root) return coroutine.wrap(function() walk(root) end) end

local DEPTH = tonumber(arg and arg[1]) or 12
local long_lived = make(DEPTH)
for depth = 4, DEPTH, 4 do
    local rounds = 1 << (DEPTH - depth + 2)
    local total = 0
    for _ = 1, rounds do total = total + check(make(depth)) end
    assert(total == rounds * ((1 << depth + 1) - 1))
    print(string.format("%d trees of depth %d: %d", rounds, depth, total))
end
assert(check(long_lived) == (1 << DEPTH + 1) - 1)

local root, seed, N = nil, 7, 2000
for i = 1, N do
    seed = (seed * 16807) % 2147483647
    root = insert(root, i, seed)
end
local expected = 1
for key in keys(root) do
    assert(key == expected)
    expected = expected + 1
end
assert(expected == N + 1)
print("calls make " .. made)
print("calls check " .. visited)
print("calls Node.new " .. N)
print("calls walk " .. 2 * N + 1)
