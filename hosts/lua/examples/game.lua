-- SPDX-License-Identifier: MIT
--
-- A game's loop without the pictures: sparks fly and fade. Most frames take the same time, some stutter. The sums over
-- the whole run do not say why; the slow frames, beside the others, do:
--
--     ouro lua --slice frame -o game.pb.gz game.lua && ouro report --slices game.pb.gz
--
-- The reason: dead sparks are only removed when there are a thousand of them, and then all at once, with a collection.

local FRAMES, BORN, LIFE, MOST_DEAD = 600, 20, 30, 1000

local sparks, dead, sweeps, moved = {}, 0, 0, 0
local calls = {frame = 0, spawn = 0, move = 0, draw = 0, sweep = 0}

local function spawn(i)
    calls.spawn = calls.spawn + 1
    sparks[#sparks + 1] = {x = i, y = 0, vx = i % 7 - 3, vy = i % 5 + 1, life = LIFE}
end

local function move()
    calls.move = calls.move + 1
    for i = #sparks, 1, -1 do
        local s = sparks[i]
        if s.life > 0 then
            s.x, s.y, s.life = s.x + s.vx, s.y + s.vy, s.life - 1
            moved = moved + 1
            if s.life == 0 then dead = dead + 1 end
        end
    end
end

local function draw()
    calls.draw = calls.draw + 1
    local lit = 0
    for i = 1, #sparks do
        if sparks[i].life > 0 then lit = lit + 1 end
    end
    return lit
end

-- The oldest first, so that those that live are drawn on top.
local function sweep()
    calls.sweep = calls.sweep + 1
    table.sort(sparks, function(a, b) return a.life < b.life end)
    local alive = {}
    for _, s in ipairs(sparks) do
        if s.life > 0 then alive[#alive + 1] = s end
    end
    sparks, dead, sweeps = alive, 0, sweeps + 1
    collectgarbage()
end

local function frame(n)
    calls.frame = calls.frame + 1
    for i = 1, BORN do spawn(n * BORN + i) end
    move()
    local lit = draw()
    if dead >= MOST_DEAD then sweep() end
    return lit
end

local lit = 0
for n = 1, FRAMES do lit = frame(n) end

-- Every spark is moved as often as it lives, but for those of the last frames.
assert(lit == BORN * (LIFE - 1), lit)
assert(moved == BORN * LIFE * (FRAMES - LIFE) + BORN * LIFE * (LIFE + 1) / 2, moved)
assert(sweeps > 5 and dead < MOST_DEAD)
for _, name in ipairs{"frame", "spawn", "move", "draw", "sweep"} do print("calls " .. name .. " " .. calls[name]) end
