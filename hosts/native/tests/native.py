# SPDX-License-Identifier: MIT
"""For the suites of the native host: build a program, run it under `ouro run`, and look at its profile."""
import os, subprocess, sys, tempfile, traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")


class Failure(Exception):
    pass


class Host:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.ouro = os.path.join(self.build, "ouro")
        self.folder = tempfile.mkdtemp(prefix="ouro-native-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def sh(self, command, check=True, timeout=300, **more):
        text = more.pop("stdin_text", None)
        source = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                              cwd=self.folder, **source, **more)
        if check and done.returncode:
            raise Failure(f"{command}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done

    # The ways to build, by name: the command, and what the compiler underneath is.
    WAYS = {
        "gcc": ([], "gcc", ["-O2"]),
        "gcc-O0": ([], "gcc", ["-O0"]),
        "clang": ([], "clang", ["-O2"]),
        "static": ([], "gcc", ["-O2", "-static"]),
        "static-pie": ([], "gcc", ["-O2", "-static-pie"]),
        "no-pie": ([], "gcc", ["-O2", "-no-pie", "-fno-pie"]),
        "asan": ([], "gcc", ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
        "tsan": ([], "gcc", ["-O1", "-fsanitize=thread"]),
        "xray": (["--xray"], "clang", ["-O2"]),
        "xray-static": (["--xray"], "clang", ["-O2", "-static"]),
    }

    def compile(self, way, sources, output, *flags):
        first, compiler, options = self.WAYS[way]
        cxx = any(s.endswith(".cpp") for s in sources)
        under = {"gcc": "g++", "clang": "clang++"}[compiler] if cxx else compiler
        env = dict(os.environ, **{"OURO_CXX" if cxx else "OURO_CC": under})
        sources = [s if s.startswith("/") else os.path.join(PROGRAMS, s) for s in sources]
        self.sh([self.ouro, "c++" if cxx else "cc", *first, *options, *sources, "-o", self.path(output), *flags], env=env)
        return self.path(output)

    def run(self, *command, status=0, options=("--clock", "off"), output="out.pb", env=None, **more):
        """Runs under `ouro run`; returns what it printed."""
        done = self.sh([self.ouro, "run", "-q", "-o", self.path(output), *options, "--", *command], check=False,
                       env=dict(os.environ, **(env or {})), **more)
        if done.returncode != status:
            raise Failure(f"{command}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def paths(self, output="out.pb", metric="calls"):
        """{path: amount}, paths written a;b;c."""
        lines = self.sh([self.ouro, "convert", "--to", "folded", "--metric", metric, self.path(output), "-"]).stdout
        return {path: int(n) for path, n in (line.rsplit(" ", 1) for line in lines.splitlines())}

    def totals(self, **more):
        """{block: amount}."""
        sums = {}
        for path, n in self.paths(**more).items():
            block = path.split(";")[-1]
            sums[block] = sums.get(block, 0) + n
        return sums


def expect(got, want):
    if got != want:
        keys = sorted(set(got) | set(want))
        lines = [f"  {k}: {got.get(k, 0)}, not {want.get(k, 0)}" for k in keys if got.get(k, 0) != want.get(k, 0)]
        more = [f"  and {len(lines) - 20} more"] if len(lines) > 20 else []
        raise Failure("\n".join([line[:300] for line in lines[:20]] + more))


def wanted(source):
    """The lines `// want: a;b;c 12` of a program."""
    want = {}
    with open(os.path.join(PROGRAMS, source)) as f:
        for line in f:
            if line.startswith("// want: "):
                path, n = line[len("// want: "):].rsplit(" ", 1)
                want[path] = int(n)
    return want


def run_cases(cases):
    """cases: [(name, function)]; each runs with a Host of its own. Prints ok or not ok."""
    import shutil
    build, word = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = False
    for name, case in cases:
        if word not in name:
            continue
        host = Host(build)
        try:
            case(host)
            print(f"ok {name}", flush=True)
        except Exception as e:
            failed = True
            text = str(e) if isinstance(e, Failure) else traceback.format_exc()
            print(f"not ok {name}\n" + "\n".join("    " + line for line in text.splitlines()), flush=True)
        shutil.rmtree(host.folder, ignore_errors=True)
    sys.exit(failed)
