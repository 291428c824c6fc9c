// An extension of pi. Context is a message of its own before the first prompt, and again after a compaction; pi keeps it
// in the session, where Recollect leaves it out again.

const CUSTOM_TYPE = "recollect-memory"

export default function recollect(pi) {
  let due = Promise.resolve("")

  const about = (ctx) => ({ session_id: ctx.sessionManager?.getSessionId?.() ?? "", cwd: ctx.cwd ?? process.cwd() })
  const start = (event, source, ctx) => {
    due = ask(event, { hook_event_name: "SessionStart", ...about(ctx), source })
  }

  pi.on(
    "session_start",
    guarded(async (event, ctx) => {
      tell = (message) => ctx.ui?.notify?.(message, "warning")
      start("start", event?.reason === "new" ? "startup" : (event?.reason ?? "startup"), ctx)
    }),
  )
  pi.on(
    "session_compact",
    guarded(async (_event, ctx) => start("compact", "compact", ctx)),
  )
  pi.on(
    "before_agent_start",
    guarded(async (event, ctx) => {
      const payload = { hook_event_name: "UserPromptSubmit", ...about(ctx), prompt: event.prompt ?? "" }
      const texts = [await due]
      due = Promise.resolve("")
      if (SETTINGS.answers.prompt) texts.push(await ask("prompt", payload))
      else keep(payload)
      const content = texts.filter((text) => text).join("\n")
      return content ? { message: { customType: CUSTOM_TYPE, content, display: false } } : undefined
    }),
  )
  pi.on(
    "tool_result",
    guarded(async (event, ctx) => {
      keep({
        hook_event_name: event.isError ? "PostToolUseFailure" : "PostToolUse",
        ...about(ctx),
        tool_name: event.toolName,
        tool_use_id: event.toolCallId,
        tool_input: event.input,
        tool_response: event.content,
      })
      return undefined
    }),
  )
  pi.on(
    "agent_end",
    guarded(async (_event, ctx) => {
      keep({ hook_event_name: "Stop", ...about(ctx) })
    }),
  )
  pi.on(
    "session_shutdown",
    guarded(async (event, ctx) => {
      await keep({ hook_event_name: "SessionEnd", ...about(ctx), reason: event?.reason ?? "" })
    }),
  )
}
