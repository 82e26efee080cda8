#!/bin/sh
# fetch_swagger_ui.sh: fetches the files of Swagger UI that /docs serves, with npm, and replaces the ones in the tree only
# if all of them have the digests in SHA256SUMS. For another version: change VERSION and SHA256SUMS together.
set -eu
VERSION=5.35.0
vendor=$(cd "$(dirname "$0")/../serve/ellzero/serve/page/vendor" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "swagger-ui-dist@$VERSION" >/dev/null
tar -xf "swagger-ui-dist-$VERSION.tgz"
cd package
sha256sum --check --strict --quiet "$vendor/SHA256SUMS"
cut -c 67- "$vendor/SHA256SUMS" | while read -r file; do
    cp "$file" "$vendor/$file"
done
echo "Swagger UI $VERSION: all digests match"
