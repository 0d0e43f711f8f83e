"""Rules as data: test frameworks, how they are started, and how a selection is scoped.

``style`` says how a positional argument is read (see ``trajlab.behavior.scopes``). In ``flags`` the word
before a colon is what the flags after it do: ``case``, ``file``, ``part`` select by their value, ``scope``
reads the value like a positional argument, ``value`` is a value without selection, ``optional`` one that
may be missing, ``number`` one that may be missing and is a number or ``auto``; ``select`` selects single
tests without a value, ``part!`` and ``file!`` folders or files; with ``info`` no test runs, with ``build``
tests are only built.
"""

from __future__ import annotations

PYTEST_FLAGS = (
    "case: -k -m; select: --lf --last-failed; scope:; "
    "info: --collect-only --co --collectonly --fixtures --funcargs --fixtures-per-test --markers "
    "--version -V --help -h "
    "--setup-plan --cache-show; optional: --cov; "
    "value: -n -p -o -c -W -r --tb --maxfail --durations --durations-min --timeout --color --log-level "
    "--log-cli-level "
    "--log-file --junitxml --junit-xml --basetemp --import-mode --ds --confcutdir --rootdir --deselect "
    "--ignore "
    "--ignore-glob --reruns --dist --tx --html --json-report-file --cov-report --cov-config "
    "--cov-fail-under --capture "
    "--show-capture --override-ini --numprocesses --randomly-seed --seed --timeout-method --verbosity "
    "--assert --mpl-baseline-path "
    "--doctest-glob --remote-data --count --repeat --maxprocesses --benchmark-json --ds --settings "
    "--asyncio-mode --pastebin"
)
JEST_FLAGS = (
    "case: -t --testNamePattern --test-name-pattern --grep -g; scope: --testPathPattern --testPathPatterns "
    "--findRelatedTests_ --include; info: --listTests --help -h --version --showConfig; part: "
    "--selectProjects --project; "
    "value: -c --config -w --maxWorkers --reporters --reporter --coverageDirectory --testTimeout --env "
    "--rootDir --roots "
    "--environment --pool --root -r --dir --coverageReporters --setupFilesAfterEach --testTimeout --seed "
    "--shard"
)
DJANGO_FLAGS = (
    "case: -k --tag; info: --help -h --version; scope:; "
    "value: -v --verbosity --settings -j --exclude-tag --pythonpath -p --pattern -t --top-level-directory "
    "--testrunner --start-at --start-after --database --selenium; number: --parallel --shuffle"
)

FRAMEWORKS: dict[str, dict[str, str]] = {
    "pytest": {"style": "path", "flags": PYTEST_FLAGS, "clusters": "yes"},
    "unittest": {
        "style": "dotted",
        "flags": "case: -k; scope: -s --start-directory; value: -t --top-level-directory --durations; "
        "pattern: -p --pattern; info: -h --help",
        "clusters": "yes",
        "skip": "discover",
        "modules": "yes",
    },
    "nose": {
        "style": "path",
        "flags": (
            "case: -m -a -A --match --attr --eval-attr; scope: --tests; select: --failed; info: "
            "--collect-only --version "
            "-h --help --plugins; value: -w --where -c --config -l -e --exclude "
            "--processes --process-timeout "
            "--xunit-file --cover-package --verbosity --logging-level --plugin"
        ),
        "clusters": "yes",
        "modules": "yes",
        "colon": "yes",
    },
    "django": {"style": "dotted", "flags": DJANGO_FLAGS, "clusters": "yes"},
    "sympy": {
        "style": "path",
        "flags": "case: -k; value: --seed --split --timeout --rerun --tb; info: --help -h",
        "modules": "yes",
    },
    "setup.py": {
        "style": "dotted",
        "flags": (
            "scope: -t --test-suite -s -m --test-path --test-module; part: -P --package; nested: -a "
            "--args --addopts "
            "--pytest-args; value: -r"
        ),
    },
    "trial": {
        "style": "dotted",
        "flags": "value: --reporter -j --jobs --temp-directory; info: --help",
        "modules": "yes",
    },
    "stestr": {"style": "dotted", "flags": "value: --concurrency; case: --black-regex", "modules": "yes"},
    "behave": {
        "style": "path",
        "flags": "case: -n --name -t --tags; info: --help --dry-run -d; value: -f -o -D",
        "line": "yes",
    },
    "robot": {
        "style": "path",
        "flags": "case: -t --test -i --include; part: -s --suite; value: -d -v -o -e; info: --help",
    },
    "ward": {"style": "path", "flags": "case: --search --tags; scope: --path; info: --help"},
    "doctest": {"style": "path", "flags": "value: -o; info: -h --help"},
    "regrtest": {
        "style": "names-file",
        "flags": "case: -m --match; value: -j -u -R --timeout; info: --list-tests -h --help",
    },
    "tox": {
        "style": "environments",
        "flags": "environments: -e --env; value: -c --workdir -x -f -m; info: -l -a --listenvs "
        "--listenvs-all --showconfig --version --help -h --devenv --notest",
        "after": "pytest",
    },
    "nox": {
        "style": "environments",
        "flags": "environments: -s -e --session --sessions; case:; value: -f --noxfile -p --python "
        "-t --tags; info: -l --list --list-sessions --version --help -h",
        "after": "pytest",
    },
    "jest": {"style": "path", "flags": JEST_FLAGS, "bare": "file", "skip": "run watch related dev"},
    "vitest": {
        "style": "path",
        "flags": JEST_FLAGS,
        "bare": "file",
        "skip": "run watch related dev",
        "info_words": "list",
    },
    "mocha": {
        "style": "path",
        "flags": "case: -g -f --grep --fgrep; info: --help --version --dry-run; "
        "value: -r --require -R --reporter -t --timeout -u --ui --config --extension --ignore -j --jobs "
        "-O --opts",
    },
    "ava": {"style": "path", "flags": "case: -m --match; value: -c --concurrency -T --timeout; info: --help"},
    "node-test": {
        "style": "path",
        "flags": "case: --test-name-pattern; value: -r --require --import --loader --test-reporter "
        "--test-concurrency --conditions -C",
    },
    "karma": {
        "style": "path",
        "flags": "scope: --include; value: --browsers --configuration -c; case: --grep",
        "skip": "start",
    },
    "playwright": {
        "style": "path",
        "flags": "case: -g --grep; part: --project; value: -c --config -j --workers --reporter "
        "--retries --timeout; info: --list --help",
        "line": "yes",
        "bare": "file",
    },
    "cypress": {"style": "path", "flags": "scope: --spec -s; value: --browser -b --config -C --env -e"},
    "deno": {"style": "path", "flags": "case: --filter; value: --config -c --import-map"},
    "names": {
        "style": "names-part",
        "flags": "case: --testNamePattern -t --match-test --mt; scope: --match-path --testFile; value: --configuration",
    },
    "cargo": {
        "style": "names-case",
        "flags": (
            "part: -p --package; file: --test --bin --example --bench; part!: --lib --bins --doc "
            "--examples --benches; "
            "value: --features -F --manifest-path --target --target-dir -j --jobs --profile --exclude "
            "--color --config --message-format "
            "-Z --test-threads --skip --format; build: --no-run; info: --help -h --list; select:"
        ),
    },
    "nextest": {
        "style": "names-case",
        "flags": "part: -p --package; case: -E --filter-expr; file: --test --bin; part!: --lib --bins; "
        "value: --features -F --manifest-path --profile -j --test-threads --exclude --target --retries; "
        "build: --no-run; "
        "info: --help",
        "skip": "run",
        "info_words": "list",
    },
    "go": {
        "style": "go",
        "flags": "case: -run --run -bench -fuzz; build: -c; info: -list -h -help -n; "
        "value: -timeout -count -p -parallel -cpu -tags -coverprofile -covermode -coverpkg -o -exec "
        "-benchtime -cpuprofile "
        "-memprofile -ldflags -gcflags -mod -modfile -shuffle -vet -C",
    },
    "rspec": {
        "style": "path",
        "flags": (
            "case: -e --example -t --tag -E --example-matches; select: --only-failures; scope: -P "
            "--pattern; info: --dry-run "
            "--version --help -h; value: -f --format -o --out -r --require -I --seed --order"
        ),
        "line": "yes",
    },
    "minitest": {
        "style": "path",
        "flags": "case: -n --name; value: -s --seed -e --environment -I -r; info: --help",
        "line": "yes",
    },
    "cucumber": {
        "style": "path",
        "flags": "case: -n --name -t --tags; value: -f -o -r -p; info: --dry-run --help",
        "line": "yes",
    },
    "phpunit": {
        "style": "path",
        "flags": (
            "case: --filter --group --covers --uses; part: --testsuite; value: -c --configuration "
            "--bootstrap --log-junit "
            "--coverage-html -d --exclude-group; info: --list-tests --list-groups --list-suites --version "
            "--help -h"
        ),
    },
    "maven": {
        "style": "none",
        "flags": "class: -Dtest -Dit.test; part: -pl --projects; value: -f --file -P -s -T -rf -l; "
        "info: --version -v --help -h",
    },
    "gradle": {
        "style": "none",
        "flags": "class: --tests; value: -p --project-dir -b -x --exclude-task -I --console; "
        "info: --version -v --help -h",
    },
    "sbt": {"style": "none", "flags": "value:"},
    "junit": {
        "style": "class",
        "flags": "class: -c --select-class; case: -m --select-method; part: -p --select-package; "
        "value: -cp -classpath --class-path",
    },
    "dotnet": {
        "style": "project",
        "flags": "filter: --filter --TestCaseFilter --Tests; info: -t --list-tests --help -h; value: -c "
        "--configuration -f --framework -l --logger -o --output -r --runtime -v --verbosity -s "
        "--settings --collect -d",
    },
    "ctest": {
        "style": "none",
        "flags": "case: -R --tests-regex -I --tests-information -L --label-regex; select: --rerun-failed; "
        "value: --test-dir -j --parallel -C --build-config --timeout -E --exclude-regex -LE -D -M -T -S "
        "--output-junit -O; "
        "info: -N --show-only --print-labels --help --version",
    },
    "meson": {
        "style": "names-case",
        "flags": "part: --suite; value: -C --num-processes -t --repeat; info: --list --help",
    },
    "bazel": {"style": "bazel", "flags": "case: --test_filter; value: -c --config --jobs; info: --help"},
    "exunit": {
        "style": "path",
        "flags": "case: --only; value: --seed --exclude --formatter; select: --failed",
        "line": "yes",
    },
    "swift": {
        "style": "none",
        "flags": "case: --filter -s --specifier; info: --list-tests; value: --package-path -c; build:",
    },
    "dart": {
        "style": "path",
        "flags": "case: -n --name -N --plain-name -t --tags; value: -p --platform -r --reporter -j",
    },
    "lein": {"style": "dotted", "flags": "case: :only", "modules": "yes"},
    "stack": {
        "style": "names-part",
        "flags": "case: --test-arguments --ta --test-options; value: --test-show-details -j",
    },
    "prove": {"style": "path", "flags": "value: -I -j -e -P -M", "clusters": ""},
    "files": {"style": "path", "flags": "case: --test-filter -f --filter; value: -j"},
    "busted": {
        "style": "path",
        "flags": "case: --filter -t --tags; value: -o -m -p --helper; info: --list --help",
    },
    "whole": {"style": "whole", "flags": "info: --help --list"},
    "shell-runner": {"style": "path", "flags": "case: -k; info: --help -h"},
}

TEST_PROGRAMS = {
    "pytest": "pytest ptw pytest-watch pytest-xdist",
    "unittest": "unit2 green",
    "nose": "nosetests nose2 nosetests-3",
    "trial": "trial",
    "stestr": "zope-testrunner",
    "behave": "behave lettuce",
    "robot": "robot",
    "ward": "ward",
    "tox": "tox",
    "nox": "nox",
    "jest": "jest",
    "vitest": "vitest",
    "mocha": "mocha _mocha jasmine tap qunit tape uvu nyc-mocha",
    "ava": "ava",
    "karma": "karma",
    "rspec": "rspec",
    "minitest": "minitest m",
    "cucumber": "cucumber cucumber-js",
    "phpunit": "phpunit simple-phpunit pest paratest codecept",
    "ctest": "ctest",
    "prove": "prove",
    "files": "bats shunit2 roundup",
    "busted": "busted",
    "nextest": "cargo-nextest",
}

TEST_MODULES = {
    "pytest": "pytest py.test",
    "unittest": "unittest unittest2 xmlrunner green",
    "nose": "nose nose2",
    "trial": "twisted.trial",
    "stestr": "testtools.run zope.testrunner",
    "tox": "tox",
    "nox": "nox",
    "doctest": "doctest",
    "regrtest": "test test.regrtest",
    "behave": "behave",
    "robot": "robot",
}
"""Modules that ``python -m`` starts as a test framework."""

RUNNER_FILES = {
    "django": "runtests.py runtests",
    "sympy": "bin/test bin/doctest bin/test_isolated",
    "shell-runner": (
        "run_tests.py run_tests.sh run-tests.sh run_tests run-tests runtests.sh run_all_tests.py "
        "run_all_tests.sh "
        "run_unit_tests.sh run_unittests.sh run_tests.rb run_tests.pl framework_runner.py testrunner.py "
        "script/test scripts/test "
        "scripts/test.sh bin/rails-test unittests.sh tools/run_tests.py dev/run-tests run_unittests.py"
    ),
    "regrtest": "lib/test/regrtest.py",
}
"""A project's own test runners, by file name or by folder and file name."""

TEST_ROOTS = "tests test testing spec specs __tests__ t"
"""Folders that hold all tests of a project where they stand at its root."""

REPOSITORY_ROOTS = r"/(?:testbed|repo|app|code|src|project|workspace(?:/[^/]*__[^/]*)?|home/[^/]+/[^/]+)"
"""Where the public benchmarks' containers keep the repository (pattern)."""

MAVEN_TEST_GOALS = "test verify integration-test surefire:test failsafe:integration-test failsafe:verify surefire-test"
