-- SPDX-License-Identifier: MIT
--
-- Fibonacci numbers, plain and memoised: exponential and linear, side by side. The number of calls of both is known:
-- the plain one makes 2 fib(n + 1) - 1, the memoised one 2 n - 1 and a lookup for the rest.

local function memoise(f)
    local known = {}
    local hits = 0
    local function remembered(n)
        local value = known[n]
        if value then
            hits = hits + 1
            return value
        end
        value = f(n)
        known[n] = value
        return value
    end
    return remembered, function() return hits, known end
end

local function slow(n)
    if n < 2 then return n end
    return slow(n - 1) + slow(n - 2)
end

local evaluations = 0
local fib, statistics
fib, statistics = memoise(function(n)
    evaluations = evaluations + 1
    if n < 2 then return n end
    return fib(n - 1) + fib(n - 2)
end)

local function iterative(n)
    local a, b = 0, 1
    for _ = 1, n do
        a, b = b, a + b
    end
    return a
end

-- By matrices: fib(n) in log n multiplications.
local function multiply(a, b)
    return {a[1] * b[1] + a[2] * b[3], a[1] * b[2] + a[2] * b[4], a[3] * b[1] + a[4] * b[3], a[3] * b[2] + a[4] * b[4]}
end

local function power(matrix, n)
    if n == 1 then return matrix end
    local half = power(matrix, n // 2)
    local square = multiply(half, half)
    if n % 2 == 1 then return multiply(square, matrix) end
    return square
end

print("slow", slow(20))
print("memoised", fib(90))
print("iterative", iterative(90))
print("matrix", power({1, 1, 1, 0}, 89)[1])
assert(slow(20) == iterative(20))
assert(fib(90) == iterative(90) and power({1, 1, 1, 0}, 89)[1] == fib(90))

local hits, known = statistics()
local entries = 0
for _ in pairs(known) do entries = entries + 1 end
assert(entries == evaluations and evaluations == 91)
print("hits", hits)
print("calls remembered " .. evaluations + hits)
print("calls slow " .. 2 * 21891)
print("calls iterative 3")
