-- SPDX-License-Identifier: MIT
--
-- Five bodies that attract each other, in double precision. The energy of the system is nearly constant.

local sqrt = math.sqrt
local PI = math.pi
local SOLAR_MASS = 4 * PI * PI
local DAYS = 365.24

local function body(x, y, z, vx, vy, vz, mass)
    return {x = x, y = y, z = z, vx = vx * DAYS, vy = vy * DAYS, vz = vz * DAYS, mass = mass * SOLAR_MASS}
end

local bodies = {
    body(0, 0, 0, 0, 0, 0, 1),
    body(4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01, 1.66007664274403694e-03,
         7.69901118419740425e-03, -6.90460016972063023e-05, 9.54791938424326609e-04),
    body(8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01, -2.76742510726411042e-03,
         4.99852801234917238e-03, 2.30417297573763929e-05, 2.85885980666130812e-04),
    body(1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01, 2.96460137564761618e-03,
         2.37847173959480950e-03, -2.96589568540237556e-05, 4.36624404335156298e-05),
    body(1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01, 2.68067772490389322e-03,
         1.62824170038242295e-03, -9.51592254519715870e-05, 5.15138902046611451e-05),
}

local function offset_momentum(list)
    local px, py, pz = 0, 0, 0
    for _, b in ipairs(list) do
        px, py, pz = px + b.vx * b.mass, py + b.vy * b.mass, pz + b.vz * b.mass
    end
    local sun = list[1]
    sun.vx, sun.vy, sun.vz = -px / SOLAR_MASS, -py / SOLAR_MASS, -pz / SOLAR_MASS
end

local function attract(a, b, dt)
    local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
    local square = dx * dx + dy * dy + dz * dz
    local force = dt / (square * sqrt(square))
    local ma, mb = a.mass * force, b.mass * force
    a.vx, a.vy, a.vz = a.vx - dx * mb, a.vy - dy * mb, a.vz - dz * mb
    b.vx, b.vy, b.vz = b.vx + dx * ma, b.vy + dy * ma, b.vz + dz * ma
end

local function move(b, dt)
    b.x, b.y, b.z = b.x + dt * b.vx, b.y + dt * b.vy, b.z + dt * b.vz
end

local function advance(list, dt)
    local n = #list
    for i = 1, n do
        for j = i + 1, n do attract(list[i], list[j], dt) end
    end
    for i = 1, n do move(list[i], dt) end
end

local function energy(list)
    local e = 0
    for i, b in ipairs(list) do
        e = e + 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
        for j = i + 1, #list do
            local c = list[j]
            local dx, dy, dz = b.x - c.x, b.y - c.y, b.z - c.z
            e = e - b.mass * c.mass / sqrt(dx * dx + dy * dy + dz * dz)
        end
    end
    return e
end

local STEPS = tonumber(arg and arg[1]) or 20000
offset_momentum(bodies)
local before = energy(bodies)
for _ = 1, STEPS do advance(bodies, 0.01) end
local after = energy(bodies)
print(string.format("%.9f", before))
assert(math.abs(before - after) < 1e-4)
print("calls attract " .. STEPS * 10)
print("calls move " .. STEPS * 5)
