// The part that all shims share: `keep` puts one event into the spool, `ask` fetches context. Neither ever throws into the
// agent; what goes wrong is counted by a mark in the spool (`.lost`, which `recollect doctor` reports) and told once.

import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, rename, unlink, writeFile } from "node:fs/promises"
import { join } from "node:path"

const MAX_DROP_BYTES = 32 * 1024 * 1024
// The hook gives up by itself after two seconds.
const ASK_LIMIT_MS = 2500
const MAX_SESSIONS = 200
// Set by Recollect for programs that it runs itself: their sessions are not memories.
const isInternal = Boolean(process.env.RECOLLECT_INTERNAL)

let tell = () => {}
let hasTold = false
let writing = Promise.resolve()
let told = 0

// Events of one millisecond keep their order by their number.
function stamped(payload) {
  return { ...payload, timestamp: new Date().toISOString(), sequence: told++ }
}

function failed(what, error) {
  if (hasTold) return
  hasTold = true
  try {
    const taken = tell(`Recollect could not ${what}: ${error?.message ?? error}`)
    if (typeof taken?.catch === "function") taken.catch(() => {})
  } catch {
    // The agent's own log does not take it; the mark in the spool remains.
  }
}

// Returns once the event is in the spool or given up. Events are written one after the other.
function keep(payload) {
  if (isInternal) return writing
  const event = stamped(payload)
  writing = writing.then(() => write(event))
  return writing
}

async function write(payload) {
  const name = `${SETTINGS.agent}.${SETTINGS.agent}.${process.pid}.${randomBytes(16).toString("hex")}`
  const partial = join(SETTINGS.spool, "tmp", name)
  try {
    // The memory's home itself is never made: where it is gone, somebody took it away.
    await made(SETTINGS.spool)
    await made(join(SETTINGS.spool, "tmp"))
    const bytes = Buffer.from(JSON.stringify(payload))
    if (bytes.length > MAX_DROP_BYTES) throw new Error(`an event has ${bytes.length} bytes`)
    await writeFile(partial, bytes, { flag: "wx", mode: 0o600 })
    await rename(partial, join(SETTINGS.spool, `${name}.json`))
  } catch (error) {
    failed("keep an event", error)
    await unlink(partial).catch(() => {})
    await writeFile(join(SETTINGS.spool, `${name}.lost`), "", { flag: "wx", mode: 0o600 }).catch(() => {})
  }
}

async function made(folder) {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (error?.code !== "EEXIST") throw error
  }
}

// Returns the context for an event, "" for none. The hook that is asked keeps the event too.
function ask(event, payload) {
  const command = SETTINGS.answers[event]
  if (isInternal || !command) return Promise.resolve("")
  return new Promise((resolve) => {
    const parts = []
    let child
    let input
    try {
      input = JSON.stringify(stamped(payload))
      child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    } catch (error) {
      failed("ask for context", error)
      resolve("")
      return
    }
    const timer = setTimeout(() => {
      failed("ask for context", "it took too long")
      child.kill("SIGKILL")
      resolve("")
    }, ASK_LIMIT_MS)
    child.on("error", (error) => {
      failed("ask for context", error)
      clearTimeout(timer)
      resolve("")
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? Buffer.concat(parts).toString("utf8").trim() : "")
    })
    child.stdout.on("data", (part) => parts.push(part))
    // A hook that ended before it read everything answers by its output, not by this.
    child.stdin.on("error", () => {})
    child.stdin.end(input)
  })
}

// Wraps what the agent calls: whatever goes wrong in here, the agent goes on.
function guarded(handle) {
  return async (...given) => {
    try {
      return await handle(...given)
    } catch (error) {
      failed("handle an event", error)
      return undefined
    }
  }
}

// A map that forgets its oldest entry: an agent may run for weeks.
function remember(map, key, value) {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_SESSIONS) map.delete(map.keys().next().value)
  return value
}
