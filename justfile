# Shorthand for the scripts: nothing needs `just` to be installed. `.tools/bin/just` is put there by
# ./scripts/tools.

# List the recipes
default:
    @{{just_executable()}} --list

# All tests; arguments narrow the run
test *ARGS:
    ./scripts/test {{ARGS}}

# The pages in a real browser; arguments narrow the run
browser *ARGS:
    ./scripts/browser {{ARGS}}

# Everything that must hold for a change
ci:
    bash .ci/run

# Format the sources
fmt:
    cargo fmt --all

# One gate of scripts/gates by name, or all
gate *NAMES:
    ./scripts/gate {{NAMES}}

# Measure: benchmarks and start-up time
bench *ARGS:
    ./scripts/bench {{ARGS}}

# Compare how work heals under Unstuck and under simpler loops
bench-healing *ARGS:
    ./scripts/bench-healing {{ARGS}}

# Nights with the real agents, judged from outside; arguments narrow the run
nights *ARGS:
    ./scripts/nights {{ARGS}}

# Attacks of a malicious agent, judged from outside; arguments narrow the run
attacks *ARGS:
    ./scripts/attacks {{ARGS}}

# Draw the README's picture from a real run
picture:
    cargo build --release -p unstuck
    ./scripts/picture docs/pictures/demo.svg --until "Why? Every" -- target/release/unstuck demo --auto

# Simulate builds with faults and crashes over seeds
simulate *ARGS:
    ./scripts/simulate {{ARGS}}

# Break the engine in small ways and see whether a test notices
mutants *ARGS:
    ./scripts/mutants {{ARGS}}

# What takes long: the full simulation, mutants, figures
nightly:
    ./scripts/nightly

# Score signatures and codes on the labelled error texts
corpus *ARGS:
    ./scripts/corpus/score {{ARGS}}
