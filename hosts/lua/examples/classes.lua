-- SPDX-License-Identifier: MIT
--
-- A class library in metamethods: inheritance, properties, operators, iteration, and objects that close themselves.

local Object = {}
Object.__index = Object

local counts = {init = 0, area = 0, add = 0, closed = 0, get = 0}

function Object:extend(name)
    local class = {name = name, super = self, getters = {}}
    for k, v in pairs(self) do
        if type(k) == "string" and k:sub(1, 2) == "__" then class[k] = v end
    end
    class.__index = function(object, key)
        local getter = class.getters[key]
        if getter then
            counts.get = counts.get + 1
            return getter(object)
        end
        return class[key]
    end
    return setmetatable(class, {__index = self, __call = function(c, ...) return c:new(...) end})
end

function Object:new(...)
    local object = setmetatable({}, self)
    object:init(...)
    return object
end

function Object:init() counts.init = counts.init + 1 end

function Object:is(class)
    local c = getmetatable(self)
    while c do
        if c == class then return true end
        c = c.super
    end
    return false
end

-- ---------------------------------------------------------------- vectors, with operators

local Vector = Object:extend("Vector")

function Vector:init(x, y)
    Object.init(self)
    self.x, self.y = x, y
end

Vector.getters.length = function(v) return math.sqrt(v.x * v.x + v.y * v.y) end
Vector.__add = function(a, b)
    counts.add = counts.add + 1
    return Vector(a.x + b.x, a.y + b.y)
end
Vector.__mul = function(a, k) return Vector(a.x * k, a.y * k) end
Vector.__eq = function(a, b) return a.x == b.x and a.y == b.y end
Vector.__lt = function(a, b) return a.length < b.length end
Vector.__unm = function(a) return Vector(-a.x, -a.y) end
Vector.__tostring = function(a) return string.format("(%g, %g)", a.x, a.y) end
Vector.__len = function() return 2 end

-- ---------------------------------------------------------------- shapes, with inheritance

local Shape = Object:extend("Shape")
function Shape:init(name)
    Object.init(self)
    self.name = name
end
function Shape:area() error(self.name .. " has no area") end
function Shape:describe() return string.format("%s of %.2f", self.name, self:area()) end

local Circle = Shape:extend("Circle")
function Circle:init(r)
    Shape.init(self, "circle")
    self.r = r
end
function Circle:area()
    counts.area = counts.area + 1
    return math.pi * self.r ^ 2
end

local Square = Shape:extend("Square")
function Square:init(side)
    Shape.init(self, "square")
    self.side = side
end
function Square:area()
    counts.area = counts.area + 1
    return self.side ^ 2
end

-- ---------------------------------------------------------------- a list with iteration, and a resource

local List = Object:extend("List")
function List:init(...)
    Object.init(self)
    self.items = {...}
end
List.__call = function(list, _, i)
    i = (i or 0) + 1
    if list.items[i] then return i, list.items[i] end
end
List.__concat = function(a, b)
    local c = List()
    table.move(a.items, 1, #a.items, 1, c.items)
    table.move(b.items, 1, #b.items, #a.items + 1, c.items)
    return c
end

local Resource = Object:extend("Resource")
Resource.__close = function() counts.closed = counts.closed + 1 end

local function use(n)
    local resource <close> = Resource()
    if n % 3 == 0 then error("failed") end
    return n
end

-- ---------------------------------------------------------------- use

local N = tonumber(arg and arg[1]) or 2000
local total = Vector(0, 0)
for i = 1, N do total = total + Vector(i, -i) * 2 end
assert(total == Vector(N * (N + 1), -N * (N + 1)) and -total == Vector(-N * (N + 1), N * (N + 1)))
assert(Vector(1, 1) < Vector(2, 2) and #total == 2)
print(total)

local shapes = List()
for i = 1, N do shapes.items[i] = i % 2 == 0 and Circle(i) or Square(i) end
local sum = 0
for _, shape in shapes do sum = sum + shape:area() end
assert(shapes.items[1]:is(Square) and shapes.items[1]:is(Shape) and not shapes.items[1]:is(Circle))
assert(#(shapes .. List(1, 2)).items == N + 2)
print(Circle(2):describe(), (pcall(Shape("blob").describe, Shape("blob"))))

local failed = 0
for i = 1, N do if not pcall(use, i) then failed = failed + 1 end end
assert(failed == N // 3 and counts.closed == N)
print("calls Vector.__add " .. counts.add)
print("calls Resource.__close " .. counts.closed)
print("calls Object:init " .. counts.init)
print("calls List.__call " .. N + 1)
print("calls use " .. N)
