# SPDX-License-Identifier: MIT
"""Runs a program under one of three recorders: harness.py MODE OUTPUT SCRIPT [args], or -m MODULE [args].

MODE is `ouro` (precise, every path), `cprofile` (counts per function, as JSON), or `model`: a naive profiler in
Python, which keeps whole stacks. The same frames stand below the program in all three.
"""
import cProfile, dis, json, pstats, random, runpy, sys, threading, _thread

import ouro  # in all modes, because some programs look at what is imported

RESUME = dis.opmap["RESUME"]


class Model:
    """sys.setprofile with real stacks. A frame that is called behind its first instruction RESUME goes on: it is a
    generator's or a coroutine's. No frame is kept, because its variables would live longer than without the model."""

    def __init__(self):
        self.calls, self.resumes, self.stacks, self.firsts = {}, {}, {}, {}

    def goes_on(self, frame):
        code = frame.f_code
        if code not in self.firsts:
            text = code.co_code
            self.firsts[code] = next((i for i in range(0, len(text), 2) if text[i] == RESUME), 0)
        return frame.f_lasti > self.firsts[code]

    def name(self, event, frame, arg):
        if event == "call":
            return frame.f_code.co_qualname
        owner = getattr(arg, "__self__", None)
        if owner is None or type(owner) is type(sys):
            return f"{arg.__module__}.{arg.__name__}"
        return arg.__qualname__

    def __call__(self, frame, event, arg):
        stack = self.stacks.setdefault(_thread.get_ident(), [])
        if event in ("call", "c_call"):
            stack.append(self.name(event, frame, arg))
            counts = self.resumes if event == "call" and self.goes_on(frame) else self.calls
            path = ";".join(stack)
            counts[path] = counts.get(path, 0) + 1
        elif stack:
            stack.pop()

    def start(self):
        threading.setprofile(self)
        sys.setprofile(self)

    def stop(self, output):
        sys.setprofile(None)
        threading.setprofile(None)
        with open(output, "w") as f:
            json.dump([self.calls, self.resumes], f)


class CProfile:
    def start(self):
        self.profile = cProfile.Profile()
        self.profile.enable()

    def stop(self, output):
        self.profile.disable()
        rows = {}
        for entry in self.profile.getstats():
            code = entry.code
            key = code if isinstance(code, str) else f"{code.co_filename}:{code.co_firstlineno}:{code.co_name}"
            rows[key] = rows.get(key, 0) + entry.callcount
        with open(output, "w") as f:
            json.dump(rows, f)


class Ouro:
    def start(self):
        ouro.start(precise=True, compact="none" if MODE == "ouro" else "loops")

    def stop(self, output):
        ouro.stop()
        ouro.snapshot(output)


def program():
    if sys.argv[0] == "-m":
        name = sys.argv[1]
        del sys.argv[0]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        with open(sys.argv[0]) as f:
            text = f.read()
        exec(compile(text, sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})


def main():
    recorder = {"model": Model, "cprofile": CProfile}.get(MODE, Ouro)()
    status = 0
    random.seed(0)
    recorder.start()
    try:
        program()
    except SystemExit as end:
        status = end.code
    finally:
        recorder.stop(OUTPUT)
    return status


if __name__ == "__main__":
    MODE, OUTPUT = sys.argv[1:3]
    sys.argv[:] = sys.argv[3:]
    sys.exit(main())
