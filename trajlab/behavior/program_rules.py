"""Rules as data: what programs do, by name, subcommand and flag.

Plain literals only; ``trajlab.behavior.rules`` turns them into look-up tables. The key of an entry is part
of the rule id that ``explain_command`` prints (``program/cat``, ``subcommand/git grep``, ``flag/sed -i`` …).
Sources: the tools' own manuals; labels: the codebook of shell commands.
"""

from __future__ import annotations

CONSTANT = {
    "read": (
        "cat tac head tail nl less more most bat batcat view zcat bzcat xzcat zless xxd od hexdump "
        "strings objdump "
        "readelf nm cut sort uniq tr column fold paste rev fmt jq yq xmllint pr diff colordiff sdiff "
        "comm join "
        "type-file get-content gc pygmentize open goto scroll_up scroll_down view_file read_file filemap "
        "view_image"
    ),
    "search": (
        "grep egrep fgrep zgrep rg ripgrep ag ack ack-grep pcregrep pcre2grep ugrep find fd fdfind ls "
        "dir vdir ll exa "
        "eza lsd tree locate mlocate plocate which whereis type where get-command select-string "
        "get-childitem "
        "ast-grep sg fzf zipgrep zipinfo search_dir search_file find_file cscope"
    ),
    "edit": (
        "ed ex red vi vim nvim nano emacs pico apply_patch applypatch insert create append edit undo_edit "
        "str_replace dos2unix unix2dos sponge pyupgrade autoflake add-trailing-comma docformatter "
        "edit_file write_file unifdef"
    ),
    "fileop": (
        "rm mv cp mkdir rmdir touch chmod chown chgrp ln tar unzip zip gzip gunzip bzip2 bunzip2 xz unxz "
        "zstd unzstd "
        "7z 7za unrar rar cpio dd rsync scp sftp truncate mktemp mkfifo shred unlink split csplit "
        "install rename "
        "trash setfacl attrib robocopy xcopy del copy move md rd new-item remove-item copy-item move-item"
    ),
    "vcs": "git hg svn bzr fossil jj cvs gh glab tig",
    "install": (
        "gcc g++ cc c++ clang clang++ rustc javac kotlinc scalac ghc nvcc ld as ar ranlib nasm yasm "
        "ponyc tcc gfortran "
        "f2py cython cythonize swig protoc flex bison lex yacc m4 autoconf automake autoreconf aclocal "
        "libtoolize "
        "cmake ccmake scons waf qmake sphinx-build sphinx-quickstart sphinx-apidoc sphinx-autogen mkdocs "
        "doxygen pdoc pdoc3 jekyll hugo pdflatex xelatex lualatex latexmk bibtex webpack rollup vite "
        "esbuild parcel "
        "snowpack apt-get aptitude dpkg yum dnf rpm zypper pacman apk snap flatpak port easy_install "
        "virtualenv pyvenv "
        "rustup nvm ensurepip pyinstaller auditwheel cibuildwheel dpkg-buildpackage rpmbuild "
        "pip-sync pip-compile pyproject-build bower jspm sdkman ldconfig opam packer"
    ),
    "static": (
        "mypy dmypy pyright basedpyright pytype pyre flake8 pylint pyflakes pycodestyle pydocstyle pep8 "
        "prospector "
        "pylama bandit vulture radon xenon interrogate codespell eslint tslint jshint jslint standard xo "
        "stylelint "
        "htmlhint markdownlint shellcheck hadolint yamllint ansible-lint actionlint cppcheck clang-tidy "
        "cpplint "
        "splint golangci-lint staticcheck golint errcheck revive reek brakeman phpstan psalm phpcs "
        "phpmd checkstyle spotbugs pmd detekt swiftlint luacheck hlint lint-imports import-linter "
        "semgrep tabnanny vulture pyroma check-manifest py_compile compileall svelte-check "
        "vue-tsc attw publint twinecheck"
    ),
    "submit": "submit exit_forfeit finish mark_task_complete",
}
"""Programs that do one thing, whatever their arguments (flags of ``FLAGS`` aside)."""

FLAGS = {
    "black": "edit; static: --check --diff",
    "isort": "edit; static: --check --check-only --diff -c --df",
    "yapf": "static; edit: -i --in-place",
    "autopep8": "static; edit: -i --in-place",
    "blue": "edit; static: --check --diff",
    "ruff check": "static; edit: --fix --unsafe-fixes --fix-only",
    "ruff format": "edit; static: --check --diff",
    "ruff": "static; edit: --fix",
    "eslint": "static; edit: --fix",
    "stylelint": "static; edit: --fix",
    "standard": "static; edit: --fix",
    "biome check": "static; edit: --write --apply --fix",
    "biome format": "static; edit: --write",
    "biome lint": "static; edit: --write --apply --fix",
    "prettier": "static; edit: --write -w",
    "gofmt": "static; edit: -w",
    "goimports": "static; edit: -w",
    "gofumpt": "static; edit: -w",
    "clang-format": "static; edit: -i",
    "rustfmt": "edit; static: --check",
    "shfmt": "static; edit: -w",
    "rubocop": "static; edit: -a -A --autocorrect --auto-correct --autocorrect-all --auto-correct-all -x",
    "standardrb": "static; edit: --fix",
    "php-cs-fixer": "edit; static: --dry-run",
    "phpcbf": "edit",
    "pint": "edit; static: --test",
    "ktlint": "static; edit: -F --format",
    "google-java-format": "static; edit: -i --replace",
    "djlint": "static; edit: --reformat",
    "pyupgrade": "edit",
    "2to3": "static; edit: -w --write",
    "autoflake": "static; edit: -i --in-place",
    "docformatter": "static; edit: -i --in-place",
    "patch": "edit; other: --dry-run",
    "tsc": "install; static: --noEmit",
    "unzip": "fileop; search: -l -v -Z -t; read: -p",
    "7z l": "search",
    "7z": "fileop",
    "zip": "fileop; search: -sf",
    "gunzip": "fileop; read: -c; search: -l",
    "gzip": "fileop; read: -dc -cd; search: -l",
    "xxd": "read; fileop: -r",
    "gcc": "install; static: -fsyntax-only",
    "g++": "install; static: -fsyntax-only",
    "clang": "install; static: -fsyntax-only",
    "clang++": "install; static: -fsyntax-only",
    "dpkg": "install; other: -l -L -s -S",
    "rpm": "install; other: -q -qa -qi -ql",
    "git apply": "edit; other: --check --stat --numstat --summary",
    "git grep": "search",
    "bandit": "static",
    "make": "install",
    "sort": "read; edit: -o",
    "jq": "read",
    "yq": "read; edit: -i --inplace",
    "cargo fmt": "edit; static: --check",
    "dotnet format": "edit; static: --verify-no-changes",
    "pre-commit": "static",
    "pre-commit run": "static",
    "pre-commit install": "install",
    "pre-commit autoupdate": "edit",
    "sphinx-build": "install",
}
"""``default; label: flags that change it to that label``; two words where a subcommand is meant."""

FILTERS = {
    "cat": (0, ""),
    "tac": (0, ""),
    "head": (0, "-n -c --lines --bytes"),
    "tail": (0, "-n -c --lines --bytes --pid -s"),
    "nl": (0, "-b -d -f -h -i -l -n -s -v -w"),
    "less": (0, "-p -P -b -j"),
    "more": (0, "-n"),
    "bat": (0, "-l --language -r --line-range --style --theme -H"),
    "batcat": (0, "-l --language -r --line-range --style --theme -H"),
    "sed": (1, "-e -f -l --expression --file"),
    "awk": (1, "-F -v -f --field-separator --assign --file"),
    "perl": (1, "-e -E -F -I -M"),
    "grep": (1, "-e -f -A -B -C -m -d -D --regexp --file --max-count --context --color"),
    "rg": (1, "-e -f -A -B -C -m -g -t -T -r -j -M --regexp --glob --type"),
    "ag": (1, "-A -B -C -m -G --ignore"),
    "ack": (1, "-A -B -C -m --type"),
    "cut": (0, "-d -f -c -b --delimiter --fields"),
    "sort": (0, "-k -t -S -T --key"),
    "uniq": (0, "-f -s -w"),
    "tr": (9, ""),
    "column": (0, "-s -o -c -N"),
    "fold": (0, "-w"),
    "paste": (0, "-d"),
    "rev": (0, ""),
    "fmt": (0, "-w"),
    "jq": (1, "--indent -L"),
    "yq": (1, "-o -p"),
    "xxd": (0, "-l -s -c -g"),
    "od": (0, "-A -t -N -j -w"),
    "hexdump": (0, "-n -s -e"),
    "strings": (0, "-n -t -e"),
    "zcat": (0, ""),
    "pygmentize": (0, "-l -f -O"),
    "xmllint": (0, "--xpath"),
    "wc": (0, ""),
    "fzf": (0, ""),
    "sponge": (0, ""),
}
"""Programs that read standard input where no file is named: operands that are a program or a pattern
(``9``: never a file) and the flags that take a value."""

FILTER_ALIASES = {
    "egrep": "grep",
    "fgrep": "grep",
    "zgrep": "grep",
    "pcregrep": "grep",
    "ugrep": "grep",
    "gawk": "awk",
}
FILTER_ALIASES |= {
    "mawk": "awk",
    "nawk": "awk",
    "gsed": "sed",
    "ripgrep": "rg",
    "ack-grep": "ack",
    "pcre2grep": "grep",
}

AUTHORS = "echo printf cat print"
"""Programs whose redirected output is file content somebody wrote in the command."""

REWRITERS = (
    "cat tac head tail nl sed awk perl cut sort uniq tr column fold paste rev fmt jq yq printf echo xxd envsubst"
)
"""Filters whose redirected output is a changed copy."""

SOURCE_SUFFIXES = (
    "py pyi pyx js jsx mjs cjs ts tsx rs go java kt scala rb php cs c h cc cpp cxx hpp hh m swift sh "
    "bash zsh pl pm lua r "
    "jl ex exs erl hs ml clj dart vue svelte html css scss less sql toml cfg ini yaml yml rst md tex "
    "cmake mk gradle"
)

HELP_FLAGS = "--help --version"
SHORT_HELP = {
    "python": "-V -h",
    "node": "-v -h",
    "npm": "-v",
    "java": "-version",
    "javac": "-version",
    "go": "-h",
    "ruby": "-v -h",
    "php": "-v -i -m -h",
    "perl": "-v -V",
    "make": "-v -h",
    "gcc": "-v",
    "mvn": "-v -version",
    "gradle": "-v",
    "cargo": "-V -h",
    "rustc": "-V",
    "pip": "-V -h",
    "tsc": "-v",
    "pre-commit": "-V -h",
    "mypy": "-V -h",
    "flake8": "-h",
    "pylint": "-h",
    "ruff": "-V -h",
    "black": "-h",
    "sphinx-build": "-h",
    "docker": "-v",
}
"""Flags with which a tool only tells about itself."""

MARKERS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
"""What mini-swe-agent (1 and 2) looks for in the first line of output."""

SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")
ENVIRONMENT_FOLDERS = ("/bin/", "/Scripts/", "/.bin/")
ACTIVATIONS = (
    "activate activate.sh conda.sh nvm.sh env env.sh .env profile .profile bashrc .bashrc .zshrc .bash_profile"
)
ACTIVATIONS += " setup.bash environment rvm setenv.sh"
"""Files that ``source`` reads to set up a shell, not to run something."""

ALIASES = {
    "pip3": "pip",
    "pip2": "pip",
    "mamba": "conda",
    "micromamba": "conda",
    "podman": "docker",
    "bazelisk": "bazel",
    "py.test": "pytest",
    "pytest-3": "pytest",
    "py.test-3": "pytest",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "gsed": "sed",
    "nodejs": "node",
    "dmypy": "mypy",
    "mvnw": "mvn",
    "mvnd": "mvn",
    "gradlew": "gradle",
    "gradlew.bat": "gradle",
    "nosetests3": "nosetests",
    "pylint3": "pylint",
    "django-admin.py": "django-admin",
}

REPAIR_FLAGS = "--fix --write --apply --autocorrect --auto-correct --in-place"
"""Handed to a package's own check (``npm run lint -- --fix``), they make it rewrite."""

NAMED_WHEREVER = (
    "gcc g++ cc c++ clang clang++ rustc javac kotlinc scalac ghc nvcc nasm yasm ponyc tcc gfortran cython swig "
    "protoc mypy dmypy pyright basedpyright pytype flake8 pylint pyflakes pycodestyle pydocstyle pylama bandit "
    "vulture codespell yamllint semgrep tabnanny pyroma shellcheck hadolint cppcheck clang-tidy cpplint "
    "golangci-lint staticcheck eslint tslint jshint stylelint htmlhint reek phpstan psalm phpcs detekt hlint "
    "black isort yapf autopep8 ruff biome prettier rustfmt clang-format rubocop"
)
"""Compilers, linters and formatters: what they do, their name says also where they are the program under study.

``./build/ponyc t.pony`` compiles and ``./target/debug/ruff check`` checks, as the installed ones would.
"""

RUNS_NO_ARGUMENT = (
    "cd pushd popd export unset alias unalias set shopt man info help hash apropos whatis kill pkill killall pgrep "
    "pidof "
    "ps jobs fg bg wait sleep echo printf read test [ true false ulimit umask id whoami groups hostname uname date "
    "declare local typeset readonly return exit break continue shift dirs pwd printenv"
)
"""Unknown to the other tables, and no wrappers: what stands behind them is never run (``cd pytest``)."""
