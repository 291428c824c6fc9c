// opencode 1 calls `server`, opencode 2 calls `setup`; each ignores the other. Context goes in front of the first message
// of the person, in each request and never in the stored session: the text stays the same until a compaction, so that the
// prompt's prefix can be cached.

const contexts = new Map()
const children = new Map()
const prompts = new Map()
const called = new Map()

function begin(session, cwd, { event = "start", source = "startup", parent } = {}) {
  const payload = { hook_event_name: "SessionStart", session_id: session, cwd, source }
  if (parent) {
    // A subagent gets its task from its parent; the history would only fill its window.
    remember(children, session, parent)
    keep({ ...payload, parent_session_id: parent })
    return Promise.resolve("")
  }
  return remember(contexts, session, ask(event, payload))
}

function said(session, cwd, message, text) {
  if (!contexts.has(session) && !children.has(session)) begin(session, cwd, { source: "resume" })
  const payload = { hook_event_name: "UserPromptSubmit", session_id: session, cwd, message_id: message, prompt: text }
  if (SETTINGS.answers.prompt && !children.has(session)) remember(prompts, message, ask("prompt", payload))
  else keep(payload)
}

function end(session, cwd) {
  contexts.delete(session)
  children.delete(session)
  return keep({ hook_event_name: "SessionEnd", session_id: session, cwd, reason: "deleted" })
}

// `at` tells of a message whether it is the person's, its id, and its parts, which are changed in place.
async function give(session, messages, at) {
  const first = messages.map(at).find((m) => m)
  if (!first) return
  await put(await contexts.get(session), first)
  for (const message of messages.map(at)) {
    if (message && prompts.has(message.id)) await put(await prompts.get(message.id), message)
  }
}

function put(text, message) {
  if (!text || message.parts.some((p) => p?.type === "text" && p.text === text)) return
  message.parts.unshift(message.part(text))
}

async function server({ client, directory }) {
  tell = (message) => client?.app?.log?.({ body: { service: "recollect", level: "warn", message } })
  const at = ({ info, parts }) =>
    info?.role === "user" && Array.isArray(parts)
      ? {
          id: info.id,
          parts,
          part: (text) => ({
            id: `prt_recollect_${info.id}`,
            sessionID: info.sessionID,
            messageID: info.id,
            type: "text",
            text,
            synthetic: true,
          }),
        }
      : undefined
  return {
    event: guarded(async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created") {
        const { parentID, directory: own } = event.properties.info
        begin(session, own ?? directory, { parent: parentID })
      } else if (event.type === "session.compacted") {
        begin(session, directory, { event: "compact", source: "compact" })
      } else if (event.type === "session.idle") {
        await keep({ hook_event_name: "Stop", session_id: session, cwd: directory })
      } else if (event.type === "session.deleted") {
        await end(session, directory)
      }
    }),
    "chat.message": guarded(async ({ sessionID, messageID }, { message, parts }) => {
      const text = parts.filter((p) => p?.type === "text" && !p.synthetic).map((p) => p.text)
      said(sessionID, directory, message?.id ?? messageID, text.join("\n"))
    }),
    // Versions before 1.18 give the arguments only here.
    "tool.execute.before": guarded(async ({ callID }, { args }) => {
      remember(called, callID, args)
    }),
    "tool.execute.after": guarded(async ({ tool, sessionID, callID, args }, output) => {
      await keep({
        hook_event_name: "PostToolUse",
        session_id: sessionID,
        cwd: directory,
        tool_name: tool,
        tool_use_id: callID,
        tool_input: args ?? called.get(callID),
        tool_response: output?.output ?? output?.content ?? null,
      })
      called.delete(callID)
    }),
    "experimental.chat.messages.transform": guarded(async (_input, { messages }) => {
      const session = messages.find((m) => m?.info?.sessionID)?.info.sessionID
      if (session) await give(session, messages, at)
    }),
    dispose: guarded(async () => {
      await writing
    }),
  }
}

async function setup(ctx) {
  const cwd = ctx.location?.directory ?? process.cwd()
  const listening = new AbortController()
  const at = ({ id, role, content }) =>
    role === "user" && Array.isArray(content)
      ? { id, parts: content, part: (text) => ({ type: "text", text }) }
      : undefined
  const register = async (domain, point, handle) => {
    try {
      await domain.hook(point, guarded(handle))
    } catch (error) {
      failed(`hear of ${point}`, error)
    }
  }
  await register(ctx.session, "prompt", async ({ sessionID, messageID, prompt }) => {
    said(sessionID, cwd, messageID, prompt?.text ?? "")
  })
  await register(ctx.session, "context", ({ sessionID, messages }) => give(sessionID, messages, at))
  await register(ctx.tool, "execute.after", (call) =>
    keep({
      hook_event_name: "PostToolUse",
      session_id: call.sessionID,
      cwd,
      tool_name: call.tool,
      tool_use_id: call.id,
      tool_input: call.input,
      tool_response: call.status === "error" ? { error: String(call.error?.message ?? call.error) } : call.result,
    }),
  )
  const hear = guarded(async () => {
    for await (const { type, data } of ctx.event.subscribe({ signal: listening.signal })) {
      if (listening.signal.aborted) return
      if (type === "session.created") begin(data.sessionID, cwd, { parent: data.parentID })
      else if (type === "session.compaction.ended") begin(data.sessionID, cwd, { event: "compact", source: "compact" })
      else if (type === "session.idle") await keep({ hook_event_name: "Stop", session_id: data.sessionID, cwd })
      else if (type === "session.deleted") await end(data.sessionID, cwd)
    }
  })
  // Not awaited: the stream lasts as long as the plugin.
  if (typeof ctx.event?.subscribe === "function") hear()
  return async () => {
    listening.abort()
    await writing
  }
}

export default {
  id: "recollect",
  server: async (input) => (await guarded(server)(input)) ?? {},
  setup: guarded(setup),
}
