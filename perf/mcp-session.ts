// A session with the echo server, in which the load calls its tool. Two files make them: mcp-http.ts through a peer,
// mcp-stdio.ts without one. Both are written by hand, so that no SDK's cost is taken for a peer's.

export type SessionEvents = {
  /** The answer to this call is whole and right, and another call can be made. */
  answered: (id: number) => void
  failed: (error: Error) => void
}

export type McpSession = {
  /** How long `initialize` took to be answered, in µs. */
  greeting: number
  /** Calls the tool; ids are never used again. */
  call: (id: number) => void
  /** Nothing is in flight any more. */
  end: () => Promise<void>
}

/** Opens a session that can have so many calls in flight. */
export type Opener = (inFlight: number, events: SessionEvents) => Promise<McpSession>
