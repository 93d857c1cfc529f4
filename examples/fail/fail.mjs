// The same in Node: two lines of JSON over the socket that every run is given.
// Run it with `unstuck exec -- node fail.mjs`. On its own it works as well: then there is no socket.

import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** Says what this script fails of. Whether it fails is seen when it ends. */
async function fail(code, message, retryAfterSeconds) {
  const { UNSTUCK_SOCKET: path, UNSTUCK_TOKEN: token } = process.env;
  if (!path || !token) return;
  const socket = connect(path);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const said = { do: "fail", code, message, retry_after_seconds: retryAfterSeconds };
  for (const [id, ask] of [{ do: "hello", token }, said].entries()) {
    socket.write(JSON.stringify({ id, ...ask }) + "\n");
    const answer = JSON.parse((await lines.next()).value);
    if (answer.refused) throw new Error(answer.refused.message);
  }
  socket.end();
}

if (!existsSync("token")) {
  await fail("AUTH_EXPIRED", "no token: log in to the shop and put it into ./token");
  process.exit(77);
}
console.log(`logged in with ${statSync("token").size} bytes`);
