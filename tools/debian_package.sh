#!/bin/sh
# debian_package.sh COMMAND PACKAGE...: installs the packages unless the command is there. Where it may not, it says so
# and goes on: what needs the command says that it is skipped.
set -u
command=$1
shift
command -v "$command" >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "$command is missing, and only root on Debian can have it installed here: $*" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null || echo "could not install $*" >&2
exit 0
