"""Rules as data: programs that run another command, and interpreters.

A wrapper is ``name: {"flags": flags that take a value, "skip": operands before the command, "as": how the
rest is read}``. ``as`` is ``command`` (default), ``python`` (the rest are arguments of ``python``),
``shell`` (the rest is shell text), ``stdin`` (operands come from standard input) or ``tasks`` (the rest may
be the name of a project's task).
"""

from __future__ import annotations

WRAPPERS: dict[str, dict[str, str | int]] = {
    "timeout": {"flags": "-k --kill-after -s --signal", "skip": 1},
    "gtimeout": {"flags": "-k --kill-after -s --signal", "skip": 1},
    "env": {"flags": "-u --unset -C --chdir", "assignments": 1, "shell_flags": "-S --split-string"},
    "sudo": {"flags": "-u -g -h -p -C -r -t -U --user --group", "assignments": 1},
    "doas": {"flags": "-u -C"},
    "gosu": {"skip": 1},
    "su-exec": {"skip": 1},
    "runuser": {"flags": "-u -g", "shell_flags": "-c --command", "lenient": 1},
    "su": {"flags": "-s -g -G", "shell_flags": "-c --command", "lenient": 1, "skip": 9},
    "nohup": {},
    "setsid": {},
    "time": {"flags": "-f -o --format --output"},
    "gtime": {"flags": "-f -o --format --output"},
    "nice": {"flags": "-n --adjustment"},
    "ionice": {"flags": "-c -n -p --class"},
    "chrt": {"skip": 1},
    "taskset": {"skip": 1, "flags": ""},
    "numactl": {"flags": "-N -m -C"},
    "stdbuf": {"flags": "-i -o -e --input --output --error"},
    "unbuffer": {},
    "command": {"info": "-v -V"},
    "builtin": {},
    "exec": {"flags": "-a"},
    "xvfb-run": {"flags": "-s -n -e -f -p -w --server-args --server-num --error-file --auth-file"},
    "dbus-run-session": {},
    "dbus-launch": {},
    "strace": {"flags": "-e -o -p -s -u -E -P -a -O -S -b"},
    "ltrace": {"flags": "-e -o -p -s -u -n"},
    "valgrind": {"flags": ""},
    "gdb": {"flags": "-ex -x -iex --command", "needs": "--args -args"},
    "perf": {"flags": "-e -o -p -F", "skip": 1},
    "catchsegv": {},
    "rr": {"skip": 1},
    "faketime": {"skip": 1},
    "flock": {"flags": "-w -E --timeout", "skip": 1, "shell_flags": "-c"},
    "chroot": {"skip": 1},
    "unshare": {"flags": "-S -G"},
    "fakeroot": {},
    "firejail": {},
    "chronic": {},
    "ts": {},
    "watch": {"flags": "-n --interval", "as": "shell"},
    "entr": {"flags": ""},
    "eval": {"as": "shell"},
    "ssh": {"flags": "-i -p -l -o -F -L -R -D -J -b -c -e -m -S -W", "skip": 1, "as": "shell"},
    "script": {"flags": "-o -E -I -O -T", "shell_flags": "-c --command", "skip": 9},
    "xargs": {
        "flags": "-I -n -P -L -d -E -s -a -R -J --max-args --max-procs --max-lines --delimiter --arg-file",
        "as": "stdin",
    },
    "parallel": {"flags": "-j -I --jobs -N -a --colsep --delay --timeout", "as": "stdin", "stop": ":::"},
    "scl": {"flags": "", "skip": 2},
    "direnv exec": {"skip": 1},
    "mise exec": {},
    "asdf exec": {},
    "pyenv exec": {},
    "rbenv exec": {},
    "nix-shell": {"flags": "-p -I", "shell_flags": "--run --command", "skip": 9},
    "devbox run": {},
    "docker exec": {"flags": "-e -u -w --env --user --workdir --env-file --detach-keys", "skip": 1},
    "docker run": {
        "flags": (
            "-e -u -w -v -p -m --env --user --workdir --volume --name --network --entrypoint --mount "
            "--platform "
            "--env-file --memory --cpus --publish --hostname -h --ulimit --shm-size --gpus --tmpfs --label "
            "-l --add-host"
        ),
        "skip": 1,
    },
    "docker compose": {"flags": "-f --file -p --project-name", "skip": 0, "subcommand": "exec run"},
    "docker-compose exec": {"flags": "-e -u -w --env --user --workdir --index", "skip": 1},
    "docker-compose run": {"flags": "-e -u -w -v -p --env --user --workdir --name --entrypoint", "skip": 1},
    "kubectl exec": {"flags": "-n -c --namespace --container", "skip": 1},
    "uv run": {
        "flags": (
            "--with --with-editable --with-requirements --python -p --extra --group --only-group "
            "--env-file "
            "--project --directory --package --index-url --index --default-index --cache-dir --no-group "
            "--no-extra"
        ),
        "as": "tasks",
        "module_flags": "-m --module",
    },
    "uv tool": {"flags": "--from --with --python -p", "skip": 1},
    "uvx": {"flags": "--from --with --python -p --index-url"},
    "poetry run": {"flags": "", "as": "tasks"},
    "pipenv run": {"flags": "", "as": "tasks"},
    "pdm run": {"flags": "-p --project --venv", "as": "tasks"},
    "rye run": {"flags": "", "as": "tasks"},
    "hatch run": {"flags": "", "as": "tasks"},
    "hatch -e": {},
    "pixi run": {"flags": "-e --environment --manifest-path", "as": "tasks"},
    "pipx run": {"flags": "--spec --python"},
    "conda run": {"flags": "-n -p --name --prefix --cwd"},
    "npx": {"flags": "-p --package", "shell_flags": "-c --call"},
    "bunx": {"flags": ""},
    "npm exec": {"flags": "-p --package -w --workspace", "shell_flags": "-c --call"},
    "pnpm exec": {"flags": "--filter"},
    "pnpm dlx": {"flags": ""},
    "yarn exec": {},
    "yarn dlx": {"flags": "-p"},
    "yarn run": {"as": "tasks"},
    "yarn node": {"as": "node"},
    "bundle exec": {"flags": ""},
    "cross-env": {"assignments": 1},
    "dotenv": {"flags": "-f -e", "drop": "run --"},
    "env-cmd": {"flags": "-f -e"},
    "nyc": {"flags": "--reporter --report-dir --include --exclude"},
    "c8": {"flags": "-r --reporter --include --exclude -o"},
    "coverage run": {
        "flags": "--source --include --omit --rcfile --data-file --concurrency --context --source-pkgs --save-signal",
        "as": "python",
    },
    "kernprof": {"flags": "-o", "as": "python"},
    "viztracer": {"flags": "-o --output_file", "as": "python"},
    "scalene": {"flags": "--outfile", "as": "python"},
    "memray run": {"flags": "-o --output", "as": "python"},
    "mprof run": {"flags": "-o", "as": "command"},
    "py-spy record": {"flags": "-o -r -f -d --output --rate --format"},
    "pyinstrument": {"flags": "-o -r --outfile", "as": "python"},
    "torchrun": {"flags": "--nproc_per_node --nnodes --nproc-per-node --master_port", "as": "python"},
    "accelerate launch": {"flags": "--config_file --num_processes", "as": "python"},
    "mpirun": {"flags": "-n -np -x --hostfile -c"},
    "mpiexec": {"flags": "-n -np"},
    "debugpy": {"flags": "--listen", "as": "python"},
    "busybox": {},
    "proxychains4": {},
    "wine": {},
    "qemu-x86_64": {},
}
WRAPPER_MODULES = {
    "coverage": "coverage",
    "kernprof": "kernprof",
    "debugpy": "debugpy",
    "viztracer": "viztracer",
    "scalene": "scalene",
    "memray": "memray",
    "pyinstrument": "pyinstrument",
    "accelerate": "accelerate",
    "pipx": "pipx",
    "pipenv": "pipenv",
    "poetry": "poetry",
    "hatch": "hatch",
    "pdm": "pdm",
    "uv": "uv",
}
"""Modules that ``python -m`` starts as the program of that name, wrapping another command."""

TOOL_MODULES = (
    "pip mypy flake8 pylint black isort ruff pyflakes pycodestyle pydocstyle autopep8 yapf bandit "
    "vulture pyright "
    "pre_commit sphinx build venv virtualenv py_compile compileall tabnanny ensurepip cython Cython "
    "twine codespell "
    "nuitka mkdocs semgrep pylama prospector lib2to3 docformatter autoflake pyupgrade django numpy.f2py "
    "pip_audit "
    "piptools pytype radon pep8 pygments IPython ipython ast"
)
"""Modules that are tools with a label of their own; any other module is a ``script``."""

MODULE_PROGRAMS = {
    "pre_commit": "pre-commit",
    "sphinx": "sphinx-build",
    "build": "pyproject-build",
    "venv": "virtualenv",
    "Cython": "cython",
    "lib2to3": "2to3",
    "django": "django-admin",
    "numpy.f2py": "f2py",
    "piptools": "pip-sync",
    "pygments": "pygmentize",
    "IPython": "ipython",
    "nuitka": "pyinstaller",
    "sphinx.ext.apidoc": "sphinx-apidoc",
    "sphinx.cmd.build": "sphinx-build",
    "sphinx.apidoc": "sphinx-apidoc",
}
RUN_MODULES = "pdb cProfile profile trace line_profiler memory_profiler ipdb pudb bdb runpy tracemalloc dis"
"""Modules that run the file or module named after them: its own label counts where it is a test framework."""

INLINE_MODULES = "timeit"

PYTHON = {
    "names": r"(?:python|pypy|ipython|bpython|jython|micropython|sage|py|graalpy|pythonw)"
    r"[0-9.]*+[a-z]?+(?:\.exe)?",
    "values": "-W -X -Q --check-hash-based-pycs --profile --pylab",
    "code": "-c",
    "module": "-m",
}

INTERPRETERS: dict[str, dict[str, str]] = {
    "node": {
        "code": "-e --eval -p --print -pe",
        "values": "-r --require --import --loader --experimental-loader -C "
        "--conditions --max-old-space-size --env-file",
        "check": "-c --check",
        "test": "--test",
    },
    "bun": {"code": "-e --eval -p --print", "values": "--preload -r"},
    "ts-node": {"code": "-e --eval -p", "values": "-P --project -r -O", "check": ""},
    "tsx": {"code": "-e --eval -p", "values": "--tsconfig"},
    "esno": {"code": "-e"},
    "babel-node": {"code": "-e --eval"},
    "ruby": {"code": "-e", "values": "-I -r -C -E", "check": "-c"},
    "jruby": {"code": "-e", "values": "-I -r"},
    "irb": {"code": "-e"},
    "pry": {"code": "-e"},
    "perl": {"code": "-e -E", "values": "-I -M -m", "check": "-c"},
    "raku": {"code": "-e"},
    "php": {"code": "-r -R", "values": "-d -c -z", "check": "-l"},
    "lua": {"code": "-e", "values": "-l"},
    "luajit": {"code": "-e", "values": "-l"},
    "texlua": {},
    "julia": {"code": "-e -E --eval --print", "values": "-L --load -J -t -p"},
    "Rscript": {"code": "-e", "values": ""},
    "R": {"code": "-e", "values": "-f"},
    "octave": {"code": "--eval", "values": "--path"},
    "matlab": {"code": "-r -batch"},
    "scala": {"code": "-e", "values": "-cp -classpath"},
    "groovy": {"code": "-e", "values": "-cp"},
    "elixir": {"code": "-e --eval", "values": "-r -pa"},
    "iex": {"code": "-e --eval"},
    "erl": {"code": "-eval"},
    "escript": {},
    "runghc": {"code": "-e"},
    "runhaskell": {"code": "-e"},
    "ghci": {"code": "-e"},
    "ocaml": {"code": "-e"},
    "clojure": {"code": "-e"},
    "clj": {"code": "-e"},
    "racket": {"code": "-e"},
    "guile": {"code": "-c"},
    "sbcl": {"code": "--eval", "values": "--load_"},
    "tclsh": {},
    "swipl": {"code": "-g"},
    "gp": {},
    "maxima": {"code": "--batch-string"},
    "jshell": {},
    "powershell": {"code": "-Command -c", "values": "-ExecutionPolicy"},
    "pwsh": {"code": "-Command -c", "values": "-ExecutionPolicy"},
    "osascript": {"code": "-e", "values": "-l"},
    "kotlin": {"values": "-cp -classpath"},
    "crystal": {},
    "nim": {},
    "java": {"values": "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports"},
    "mono": {},
    "gforth": {"code": "-e"},
}
JAVA_TEST_CLASSES = (
    "org.junit.runner.JUnitCore org.junit.platform.console.ConsoleLauncher junit.textui.TestRunner org.testng.TestNG"
)

SHELLS = "bash sh zsh dash ash ksh mksh fish rbash csh tcsh"
SHELL_VALUE_FLAGS = "-o -O +o +O --rcfile --init-file"

SCRIPT_SUFFIXES = ".py .sh .bash .js .mjs .ts .rb .pl .php .exe .out .bin .jar .R .jl .lua"
"""A program found on PATH under such a name is a source file started by its name: ``script``."""
