#!/usr/bin/env bash
# A real Ollama server for tests, built from its Go module.
#
#   run-real-ollama.sh build              build the server if it is not there, print its path
#   run-real-ollama.sh serve              serve on a loopback port, print the URL, stop at the end of
#                                         standard input (so it ends with whoever started it)
#   run-real-ollama.sh run COMMAND [ARG]  run the command with MAGMA_TEST_OLLAMA set to the URL
#
# REAL_OLLAMA_DIR   where the built server is kept (default: magma-mcp/real-ollama in the user's cache
#                   folder); 35 MB, 2.5 to 5 minutes on two cores
# REAL_OLLAMA_PORT  the port to serve on (default: a free one)
# OLLAMA_...        settings of the server are handed on to it
#
# The models come from the tests: see ollamatest/tinymodel. Needs go, g++ and two Debian packages, which
# it installs if it may: nlohmann-json3-dev and libstb-dev. Linux only.
set -euo pipefail

version=v0.17.4  # the same as in go.mod
malgo=v0.11.24   # a Go module that holds miniaudio.h
dir=${REAL_OLLAMA_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/magma-mcp/real-ollama}
server=$dir/ollama-$version
started=$SECONDS

log() { printf 'real-ollama: %s (%ss)\n' "$*" $((SECONDS - started)) >&2; }
die() {
	log "$@"
	exit 1
}

# build makes the server. Go leaves folders named "vendor" out of module archives, and with them three
# C++ headers that Ollama needs: two come from Debian, one from another Go module.
build() {
	local missing=()
	[ -e /usr/include/nlohmann/json.hpp ] || missing+=(nlohmann-json3-dev)
	[ -e /usr/include/stb/stb_image.h ] || missing+=(libstb-dev)
	if [ ${#missing[@]} -gt 0 ]; then
		[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || die "missing packages: ${missing[*]}"
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
			{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; } ||
			die "cannot install ${missing[*]}"
	fi
	command -v g++ >/dev/null || die "missing: g++"
	local work=$dir/build
	mkdir -p "$work/include/miniaudio"
	(
		cd "$work"
		[ -e go.mod ] || go mod init realollama 2>/dev/null
		go get -tool "github.com/ollama/ollama@$version" 2>/dev/null
		go get "github.com/gen2brain/malgo@$malgo" 2>/dev/null
		ln -sf "$(go list -m -f '{{.Dir}}' github.com/gen2brain/malgo)/miniaudio.h" include/miniaudio/
		log "building Ollama $version"
		# CPLUS_INCLUDE_PATH is no part of Go's cache key, unlike CGO_CXXFLAGS: the folder may move
		# without a rebuild. GOFLAGS of the caller (-race, -mod) are not for this build.
		CGO_ENABLED=1 GOFLAGS= CGO_CFLAGS="-O2 -g0" CGO_CXXFLAGS="-O2 -g0" CPLUS_INCLUDE_PATH=$work/include \
			nice go build -trimpath -ldflags "-s -w -X github.com/ollama/ollama/version.Version=${version#v}" \
			-o "$server.new" github.com/ollama/ollama
	)
	mv "$server.new" "$server"
	log "built $server"
}

ensure() {
	[ "$(uname -s)" = Linux ] || die "only Linux can build this server"
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9 # one build at a time
	[ -x "$server" ] || build
	exec 9>&-
}

tmp=
models=
pid=
cleanup() {
	local status=$? p cmd
	trap - EXIT INT TERM
	if [ -n "$pid" ]; then
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	# A server that was killed leaves its runners behind: they are known by the path of their model.
	if [ -n "$tmp" ]; then
		for p in /proc/[0-9]*; do
			cmd=$(tr '\0' ' ' 2>/dev/null <"$p/cmdline") 2>/dev/null || continue
			case $cmd in
			"$server runner "*" $models/"*) kill -KILL "${p#/proc/}" 2>/dev/null || true ;;
			esac
		done
		rm -rf "$tmp"
	fi
	exit "$status"
}

# serve starts the server and sets url. HOME keeps its key pair out of the user's home; setpriv ends it
# with this script, however that ends.
serve() {
	tmp=$(mktemp -d)
	models=${REAL_OLLAMA_MODELS:-$tmp/models}
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	env HOME="$tmp" OLLAMA_MODELS="$models" OLLAMA_HOST="127.0.0.1:${REAL_OLLAMA_PORT:-0}" \
		OLLAMA_NO_CLOUD=1 GIN_MODE=release \
		setpriv --pdeathsig TERM "$server" serve >"$tmp/log" 2>&1 </dev/null &
	pid=$!
	url=
	local port
	for _ in $(seq 600); do
		port=$(sed -n 's/.*msg="Listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$tmp/log" | head -n1)
		if [ -n "$port" ]; then
			url=http://127.0.0.1:$port
			break # it listens: requests wait until it serves
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	[ -n "$url" ] || {
		cat "$tmp/log" >&2
		die "the server did not start"
	}
}

case ${1:-} in
build)
	ensure
	echo "$server"
	;;
serve)
	ensure
	serve
	echo "$url $pid"
	cat >/dev/null # until the end of standard input
	;;
run)
	shift
	[ $# -gt 0 ] || die "run what?"
	ensure
	serve
	MAGMA_TEST_OLLAMA=$url "$@"
	;;
*)
	sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
	;;
esac
