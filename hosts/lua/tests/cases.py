# SPDX-License-Identifier: MIT
"""Small programs and what precise mode must count: a script, and paths with their calls.

Paths are those of `--compact none`, without the main chunk at the front. `...` at the end of a list says that other
paths may be there as well; otherwise it is complete.
"""

CASES = {
    "a_tail_call_stays_below_the_frame_that_it_replaced": ("""
        local function c() return 1 end
        local function b() return c() end
        local function d() end
        local function a() b() d() end
        a()
    """, {"a": 1, "a;b": 1, "a;b;c": 1, "a;d": 1}),

    "tail_calls_in_a_loop": ("""
        local even
        local function odd(n) if n == 0 then return false end return even(n - 1) end
        even = function(n) if n == 0 then return true end return odd(n - 1) end
        local function after() end
        local x = even(3)
        after()
    """, {"even": 1, "even;odd": 1, "even;odd;even": 1, "even;odd;even;odd": 1, "after": 1}),

    "a_tail_call_into_a_c_function": ("""
        local function f(s) return string.rep(s, 2) end
        local function g() end
        local x = f("a") g()
    """, {"f": 1, "f;string.rep": 1, "g": 1}),

    "an_error_leaves_all_frames_up_to_pcall": ("""
        local function deep(n) if n == 0 then error("x") end deep(n - 1) end
        local function after() end
        local function f() pcall(deep, 2) after() end
        f() after()
    """, {"f": 1, "f;pcall": 1, "f;pcall;deep": 1, "f;pcall;deep;deep": 1, "f;pcall;deep;deep;deep": 1,
          "f;pcall;deep;deep;deep;error": 1, "f;after": 1, "after": 1}),

    "xpcall_with_a_handler": ("""
        local function handler(m) return m end
        local function bad() local x = nil; return x.y end
        local function after() end
        xpcall(bad, handler)
        after()
    """, {"xpcall": 1, "xpcall;bad": 1, "xpcall;bad;handler": 1, "after": 1}),

    "errors_inside_errors": ("""
        local function inner() error({}) end
        local function outer() local ok = pcall(inner) error("again") end
        local function after() end
        pcall(outer) after()
    """, {"pcall": 1, "pcall;outer": 1, "pcall;outer;pcall": 1, "pcall;outer;pcall;inner": 1,
          "pcall;outer;pcall;inner;error": 1, "pcall;outer;error": 1, "after": 1}),

    "a_coroutine_stands_where_it_is_resumed": ("""
        local function body() coroutine.yield() end
        local co = coroutine.create(body)
        local function one() coroutine.resume(co) end
        local function two() coroutine.resume(co) end
        one() two()
    """, {"coroutine.create": 1, "one": 1, "one;coroutine.resume": 1, "one;coroutine.resume;body": 1,
          "one;coroutine.resume;body;coroutine.yield": 1, "two": 1, "two;coroutine.resume": 1}),

    "a_coroutine_goes_on_below_its_new_resumer": ("""
        local function work() end
        local function inner() coroutine.yield() work() end
        local function body() inner() work() end
        local co = coroutine.create(body)
        local function one() coroutine.resume(co) end
        local function two() coroutine.resume(co) end
        one() two()
    """, {"coroutine.create": 1, "one": 1, "one;coroutine.resume": 1, "one;coroutine.resume;body": 1,
          "one;coroutine.resume;body;inner": 1, "one;coroutine.resume;body;inner;coroutine.yield": 1,
          "two": 1, "two;coroutine.resume": 1, "two;coroutine.resume;body;inner;work": 1,
          "two;coroutine.resume;body;work": 1}),

    "wrapped_and_nested_coroutines": ("""
        local function leaf() coroutine.yield(1) end
        local function middle() local w = coroutine.wrap(leaf) w() coroutine.yield(2) end
        local m = coroutine.wrap(middle)
        local function after() end
        m() after()
    """, {"coroutine.wrap": 1, "m": 1, "m;middle": 1, "m;middle;coroutine.wrap": 1, "m;middle;w": 1,
          "m;middle;w;leaf": 1, "m;middle;w;leaf;coroutine.yield": 1, "m;middle;coroutine.yield": 1, "after": 1}),

    "a_coroutine_that_yields_across_pcall": ("""
        local function risky() coroutine.yield() error("x") end
        local function after() end
        local function body() pcall(risky) after() end
        local co = coroutine.create(body)
        coroutine.resume(co) coroutine.resume(co) after()
    """, {"coroutine.create": 1, "coroutine.resume": 2, "coroutine.resume;body": 1, "coroutine.resume;body;pcall": 1,
          "coroutine.resume;body;pcall;risky": 1, "coroutine.resume;body;pcall;risky;coroutine.yield": 1,
          "coroutine.resume;body;pcall;risky;error": 1, "coroutine.resume;body;after": 1, "after": 1}),

    "dead_coroutines": ("""
        local function ends() end
        local function fails() error("x") end
        local function after() end
        local a, b = coroutine.create(ends), coroutine.create(fails)
        coroutine.resume(a) coroutine.resume(a) coroutine.resume(b) coroutine.resume(b)
        after()
    """, {"coroutine.create": 2, "coroutine.resume": 4, "coroutine.resume;ends": 1, "coroutine.resume;fails": 1,
          "coroutine.resume;fails;error": 1, "after": 1}),

    "a_closed_coroutine_runs_its_close_methods": ("""
        local mt = {__close = function() end}
        local function body() local x <close> = setmetatable({}, mt) coroutine.yield() end
        local co = coroutine.create(body)
        coroutine.resume(co)
        local function after() end
        coroutine.close(co) after()
    """, {"coroutine.create": 1, "coroutine.resume": 1, "coroutine.resume;body": 1,
          "coroutine.resume;body;setmetatable": 1, "coroutine.resume;body;coroutine.yield": 1, "coroutine.close": 1,
          "coroutine.close;mt.__close": 1, "after": 1}),

    "an_error_through_a_wrapped_coroutine": ("""
        local mt = {__close = function() end}
        local function body() local x <close> = setmetatable({}, mt) error("x") end
        local w = coroutine.wrap(body)
        local function after() end
        pcall(w) after()
    """, {"coroutine.wrap": 1, "pcall": 1, "pcall;(coroutine)": 1, "pcall;(coroutine);body": 1,
          "pcall;(coroutine);body;setmetatable": 1, "pcall;(coroutine);body;error": 1,
          "pcall;(coroutine);mt.__close": 1, "after": 1}),

    "many_coroutines_that_are_collected": ("""
        local function body() coroutine.yield() end
        local function one() coroutine.resume(coroutine.create(body)) end
        for i = 1, 5000 do one() end
        collectgarbage()
        one()
    """, {"one": 5001, "one;coroutine.create": 5001, "one;coroutine.resume": 5001, "one;coroutine.resume;body": 5001,
          "one;coroutine.resume;body;coroutine.yield": 5001, "collectgarbage": 1, "...": 0}),

    "metamethods": ("""
        local mt = {}
        function mt.__index(t, k) return k end
        function mt.__add(a, b) return a end
        function mt.__call(self, x) return x end
        function mt.__eq() return true end
        function mt.__lt() return true end
        function mt.__concat() return "" end
        function mt.__len() return 0 end
        local a, b = setmetatable({}, mt), setmetatable({}, mt)
        local x = a.foo; x = a + b; x = a(1); x = a == b; x = a < b; x = a .. b; x = #a
    """, {"setmetatable": 2, "mt.__index": 1, "mt.__add": 1, "mt.__call": 1, "mt.__eq": 1, "mt.__lt": 1,
          "mt.__concat": 1, "mt.__len": 1}),

    "iterators": ("""
        local function each(t, i) i = i + 1 if t[i] then return i, t[i] end end
        local function pairsof(t) return each, t, 0 end
        for i, v in pairsof({1, 2, 3}) do end
        for k in pairs({1, 2}) do end
        for w in ("a b"):gmatch("%a") do end
    """, {"pairsof": 1, "each": 4, "pairs": 1, "next": 3, "string.gmatch": 1, "(for iterator)": 3}),

    "finalizers_are_not_seen_and_do_no_harm": ("""
        local function work() end
        local function make() return setmetatable({}, {__gc = function() work() end}) end
        for i = 1, 10 do make() end
        collectgarbage()
        work()
    """, {"make": 10, "make;setmetatable": 10, "collectgarbage": 1, "collectgarbage;(gc)": None, "work": 1}),

    "to_be_closed_variables": ("""
        local mt = {__close = function() end}
        local function after() end
        local function f() local x <close> = setmetatable({}, mt) end
        local function g() local x <close> = setmetatable({}, mt) error("x") end
        f() pcall(g) after()
    """, {"f": 1, "f;setmetatable": 1, "f;mt.__close": 1, "pcall": 1, "pcall;g": 1, "pcall;g;setmetatable": 1,
          "pcall;g;error": 1, "pcall;mt.__close": 1, "after": 1}),

    "loaded_chunks": ("""
        local f = load("local function inner() end inner() return 1", "=chunk")
        f() f()
    """, {"load": 1, "main chunk": 2, "main chunk;inner": 2}),

    "chunks_without_debug_information": ("""
        local text = "local function inner() end function outer() inner() end outer()"
        load(string.dump(load(text), true))()
    """, {"load": 2, "string.dump": 1, "main chunk": 1, "main chunk;outer": 1, "main chunk;outer;(anonymous)": 1}),

    "callbacks_from_c": ("""
        local t = {3, 1, 2}
        table.sort(t, function(a, b) return a < b end)
        local s = ("abc"):gsub("%a", function(c) return c end)
    """, {"table.sort": 1, "table.sort;(anonymous)": None, "string.gsub": 1, "string.gsub;(anonymous)": 3}),

    "names": ("""
        function global() end
        local t = {sub = {}}
        function t.field() end
        function t.sub:method() end
        local function loc() end
        t["quoted"] = function() end
        local u = {inner = function() end, ["x y"] = function() end}
        local const <const> = function() end
        global() t.field() t.sub:method() loc() t.quoted() u.inner() u["x y"]() const();
        (function() end)()
        local function up() loc() end up()
    """, {"global": 1, "t.field": 1, "t.sub:method": 1, "loc": 1, 't["quoted"]': 1, "u.inner": 1, 'u["x y"]': 1,
          "const": 1, "(anonymous)": 1, "up": 1, "up;loc": 1}),

    "two_functions_on_one_line": ("""
        local a, b = function() end, function(x) end
        a() b() b()
    """, {"a": 1, "b": 2}),

    "closures_of_one_function_are_one_block": ("""
        local function make(i) return function() return i end end
        for i = 1, 300 do local f = make(i) f() if i % 50 == 0 then collectgarbage() end end
    """, {"make": 300, "f": 300, "collectgarbage": 6, "...": 0}),

    "functions_at_addresses_of_collected_ones": ("""
        local function round(i)
            local a = load("local function a" .. i % 7 .. "() end a" .. i % 7 .. "()", "=c" .. i % 7)
            a()
        end
        collectgarbage("incremental")
        for i = 1, 700 do round(i) if i % 10 == 0 then collectgarbage() end end
    """, {"round": 700, "round;load": 700, "round;main chunk": 700, **{f"round;main chunk;a{i}": 100 for i in range(7)},
          "collectgarbage": 71, "...": 0}),

    "a_hook_of_the_program_goes_on": ("""
        local seen, lines = 0, 0
        local function f() end
        local function count(event) if event == "line" then lines = lines + 1 else seen = seen + 1 end end
        debug.sethook(count, "crl")
        f() f()
        local h, mask = debug.gethook()
        debug.sethook()
        f()
        assert(h == count and mask == "crl", mask)
        assert(debug.gethook() == nil)
        assert(seen >= 6 and lines >= 3, seen .. " " .. lines)
    """, {"f": 3, "debug.sethook": 2, "debug.gethook": 2, "assert": 3}),

    "a_count_hook_of_the_program": ("""
        local n = 0
        debug.sethook(function() n = n + 1 end, "", 100)
        for i = 1, 10000 do end
        debug.sethook()
        assert(n > 90 and n < 110, n)
    """, {"debug.sethook": 2, "assert": 1}),

    "marks": ("""
        local ouro = require "ouro"
        local function work() end
        local function f()
            local done <close> = ouro.block "hot"
            work()
            do local inner <close> = ouro.block "hotter" work() end
            work()
        end
        f() work()
        local m = ouro.block "open" work() m() m() work()
        pcall(function() local d <close> = ouro.block "failing" error("x") end)
        work()
    """, {"require": 1, "f": 1, "f;hot": 1, "f;hot;work": 2, "f;hot;hotter": 1, "f;hot;hotter;work": 1, "work": 3,
          "open": 1, "open;work": 1, "pcall": 1, "pcall;(anonymous)": 1, "pcall;(anonymous);failing": 1,
          "pcall;(anonymous);failing;error": 1, "...": 0}),

    "varargs_and_methods_on_strings": ("""
        local function sum(...) local s = 0 for i = 1, select("#", ...) do s = s + select(i, ...) end return s end
        assert(sum(1, 2, 3) == 6)
        local s = ("x"):rep(3):upper()
    """, {"sum": 1, "sum;select": 4, "assert": 1, "string.rep": 1, "string.upper": 1}),

    "goto_and_os_exit_in_the_middle": ("""
        local function f() end
        for i = 1, 10 do if i == 4 then goto out end f() end
        ::out::
        os.exit(0)
    """, {"f": 3, "os.exit": 1}),

    "os_exit_that_closes_the_state": ("""
        local function f() os.exit(true, true) end
        local w = coroutine.wrap(f)
        w()
    """, {"coroutine.wrap": 1, "w": 1, "w;f": 1, "w;f;os.exit": 1}),
}
