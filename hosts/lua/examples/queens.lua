-- SPDX-License-Identifier: MIT
--
-- All ways to put eight queens on a board, by backtracking, counted in two ways: with tables and with bits.

local N = tonumber(arg and arg[1]) or 8
local solutions, placed, asked = 0, 0, 0

local function is_free(board, row, column)
    asked = asked + 1
    for r = 1, row - 1 do
        local c = board[r]
        if c == column or c - r == column - row or c + r == column + row then return false end
    end
    return true
end

local function place(board, row)
    placed = placed + 1
    if row > N then
        solutions = solutions + 1
        return
    end
    for column = 1, N do
        if is_free(board, row, column) then
            board[row] = column
            place(board, row + 1)
            board[row] = nil
        end
    end
end

place({}, 1)

-- The same with one word for the columns and two for the diagonals.
local full = (1 << N) - 1
local function bits(columns, left, right)
    if columns == full then return 1 end
    local count = 0
    local free = full & ~(columns | left | right)
    while free ~= 0 do
        local bit = free & -free
        free = free ~ bit
        count = count + bits(columns | bit, (left | bit) << 1, (right | bit) >> 1)
    end
    return count
end

local function text(board)
    local lines = {}
    for row = 1, N do
        local line = {}
        for column = 1, N do line[column] = board[row] == column and "Q" or "." end
        lines[row] = table.concat(line)
    end
    return table.concat(lines, "\n")
end

-- The first solution, found by a coroutine that yields all of them.
local function search(board, row)
    if row > N then coroutine.yield(board) end
    for column = 1, N do
        if row <= N and is_free(board, row, column) then
            board[row] = column
            search(board, row + 1)
            board[row] = nil
        end
    end
end

local first = coroutine.wrap(function() search({}, 1) end)
print(text(first()))
assert(solutions == bits(0, 0, 0))
print("solutions", solutions)
print("calls place " .. placed)
print("calls is_free " .. asked)
