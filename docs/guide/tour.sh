# Sourced by the tours of README.md and docs/guide in the project's folder: `. docs/guide/tour.sh`
# It asks for the password that `npm start` printed (unless ADMIN_PASSWORD is set), signs in, and defines:
#   base, json, admin   the address of the interface, the header of JSON bodies, the header of the first ADMIN
#   value EXPRESSION    prints a part of the reply on its input (`id`, `options[0].id`); if the service refused the
#                       call, it prints the service's message and fails
#   wait_until VALUE COMMAND…  repeats a command until it prints the value; fails after a minute
# SURVEY_URL is the address of the service (default http://127.0.0.1:3000), ADMIN_EMAIL the user (admin@localhost).
[ -n "${ZSH_VERSION:-}" ] && setopt interactive_comments

base=${SURVEY_URL:-http://127.0.0.1:3000}/api/v1
json='content-type: application/json'

value() {
  node -e '
    const text = require("node:fs").readFileSync(0, "utf8");
    const stop = (message) => { console.error(message); process.exit(1); };
    if (text === "") stop("No reply. Is the service running?");
    let reply;
    try { reply = JSON.parse(text); } catch { stop(`Not JSON: ${text.slice(0, 200)}`); }
    if (!reply.success) stop(`The service says: ${reply.message}`);
    const [part] = process.argv.slice(1);
    const shown = new Function("data", `return data${/^[.[]/.test(part) ? "" : "."}${part}`)(reply.data);
    console.log(typeof shown === "string" ? shown : require("node:util").inspect(shown));
  ' "$1"
}

wait_until() {
  awaited=$1; shift
  awaited_until=$(($(date +%s) + 60))
  while [ "$(date +%s)" -lt "$awaited_until" ]; do
    [ "$("$@")" = "$awaited" ] && return
    sleep 0.5
  done
  echo "Not $awaited after a minute: $*" >&2
  return 1
}

if [ -z "${ADMIN_PASSWORD:-}" ]; then
  printf 'Password that npm start printed: '
  stty -echo; read -r ADMIN_PASSWORD; stty echo
  echo
fi
export ADMIN_PASSWORD
admin=$(curl -s "$base/auth/login" -H "$json" -d "$(ADMIN_EMAIL=${ADMIN_EMAIL:-admin@localhost} node -p '
  JSON.stringify({ email: process.env.ADMIN_EMAIL, password: process.env.ADMIN_PASSWORD })')" | value accessToken) &&
  admin="authorization: Bearer $admin" || { unset ADMIN_PASSWORD admin; false; }
